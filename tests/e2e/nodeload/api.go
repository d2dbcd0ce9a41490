// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// api is one connection to the API server.
type api struct {
	server, token string
	client        *http.Client
}

// config is as much of a kubeconfig as is used here: the first cluster and the first user. []byte fields are base64 in JSON.
type config struct {
	Clusters []struct {
		Cluster struct {
			Server string `json:"server"`
			CAFile string `json:"certificate-authority"`
			CA     []byte `json:"certificate-authority-data"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			CertificateFile string `json:"client-certificate"`
			KeyFile         string `json:"client-key"`
			Certificate     []byte `json:"client-certificate-data"`
			Key             []byte `json:"client-key-data"`
			Token           string `json:"token"`
		} `json:"user"`
	} `json:"users"`
}

func connect(path string) (*api, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var c config
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w (it must be JSON)", path, err)
	}
	if len(c.Clusters) == 0 || len(c.Users) == 0 {
		return nil, fmt.Errorf("%s: no cluster or no user", path)
	}
	cluster, user := c.Clusters[0].Cluster, c.Users[0].User
	read := func(inline []byte, file string) []byte {
		if len(inline) > 0 || file == "" || err != nil {
			return inline
		}
		var data []byte
		data, err = os.ReadFile(file)
		return data
	}
	authority := read(cluster.CA, cluster.CAFile)
	certificate, key := read(user.Certificate, user.CertificateFile), read(user.Key, user.KeyFile)
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{RootCAs: x509.NewCertPool()}
	if !settings.RootCAs.AppendCertsFromPEM(authority) {
		return nil, errors.New(path + ": no certificate authority")
	}
	if len(certificate) > 0 {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%s: client certificate: %w", path, err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: settings, DisableCompression: true}
	return &api{cluster.Server, user.Token, &http.Client{Transport: transport, Timeout: time.Minute}}, nil
}

func (a *api) do(method, path string, body any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequest(method, a.server+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/strategic-merge-patch+json")
	}
	request.Header.Set("Accept", "application/vnd.kubernetes.protobuf") // cheaper for the server
	request.Header.Set("User-Agent", "nodeload")
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %.200q", response.Status, said)
	}
	return err
}
