// Command controlplane is the Kubernetes that tests/cluster runs against, in one binary:
// etcd, kube-apiserver, kube-controller-manager and kubectl from their public Go modules,
// picked by the first argument. "keys DIR" writes the certificates and keys that a server
// needs, "cel" answers CEL expressions as Kubernetes does.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: controlplane etcd|apiserver|controller-manager|kubectl|keys|cel [arguments]"))
	}
	program := os.Args[1]
	os.Args = append([]string{program}, os.Args[2:]...)
	switch program {
	case "etcd":
		fail(etcd())
	case "apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	case "kubectl":
		os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
	case "keys":
		fail(keys(os.Args[1]))
	case "cel":
		os.Exit(evalCEL())
	default:
		fail(fmt.Errorf("no program %q", program))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// etcd serves DIR on URL without fsync (a test's data need not survive the machine)
// until it is asked to end.
func etcd() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: controlplane etcd DIR URL")
	}
	client, err := url.Parse(os.Args[2])
	if err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = os.Args[1], "warn", true
	peer, err := url.Parse("unix://" + cfg.Dir + "-peer.sock:0")
	if err != nil {
		return err
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer server.Close()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-end:
		return nil
	case err := <-server.Err():
		return err
	}
}

// keys writes into a folder: sa.key (service account tokens), front.crt and client.crt
// (authorities that the server wants to know), and hook.crt with hook.key, a certificate for
// 127.0.0.1 that is its own authority, for webhooks of tests.
func keys(dir string) error {
	account, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(account)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "sa.key"), "EC PRIVATE KEY", der); err != nil {
		return err
	}
	for _, name := range []string{"front", "client"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		authority := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign,
		}
		der, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, name+".crt"), "CERTIFICATE", der); err != nil {
			return err
		}
	}
	return hook(dir)
}

func hook(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "hook"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, server, server, &key.PublicKey, key)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "hook.crt"), "CERTIFICATE", der); err != nil {
		return err
	}
	if der, err = x509.MarshalECPrivateKey(key); err != nil {
		return err
	}
	return write(filepath.Join(dir, "hook.key"), "EC PRIVATE KEY", der)
}

func write(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
