#!/bin/sh
sed -i "s/size: .*/size: 77/" "$1"
