#!/bin/sh
sed -i "s/^data:/data:\n  edited: \"yes\"/" "$1"
