// SPDX-License-Identifier: Apache-2.0

// nodeload fills an API server with flannel Nodes of about 9 KB, or deletes them again, and sends
// their heartbeats as kubelets do.
//
//	nodeload --kubeconfig F --from 0 --to 1000
//	nodeload --kubeconfig F --from 0 --to 1000 --heartbeats-per-second 100 --seconds 60
//	nodeload --kubeconfig F --from 0 --to 1000 --delete
//
// It prints what it did in one line; exit status 1 when something failed.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var (
	kubeconfig = flag.String("kubeconfig", "", "a kubeconfig in JSON, of somebody who may create Nodes")
	from       = flag.Int("from", 0, "the first Node's number; its name is load-NUMBER")
	to         = flag.Int("to", 0, "the number after the last Node's")
	remove     = flag.Bool("delete", false, "delete them instead")
	parallel   = flag.Int("parallel", 16, "requests at once")
	images     = flag.Int("images", 50, "images in each status: 50 make a Node of 9 KB in protobuf")
	subnet     = flag.String("first-subnet", "10.0.0.0", "the /24 of Node 0; the others follow")
	address    = flag.String("first-address", "172.16.0.0", "the public-ip of Node 0; the others follow")
	rate       = flag.Float64("heartbeats-per-second", 0, "patch the status of these Nodes, one after another")
	seconds    = flag.Float64("seconds", 10, "for how long")
)

// work calls do(i) for each number that arrives; the count of failures, of which the first are shown.
func work(numbers <-chan int, do func(*api, int) error) int64 {
	var failed atomic.Int64
	var all sync.WaitGroup
	for range *parallel {
		all.Go(func() {
			client, err := connect(*kubeconfig)
			if err != nil {
				fmt.Fprintln(os.Stderr, "nodeload:", err)
				os.Exit(2)
			}
			for i := range numbers {
				if err := do(client, i); err != nil {
					if failed.Add(1) <= 3 {
						fmt.Fprintf(os.Stderr, "nodeload: %s: %v\n", nodeName(i), err)
					}
				}
			}
		})
	}
	all.Wait()
	return failed.Load()
}

func each() <-chan int {
	numbers := make(chan int)
	go func() {
		defer close(numbers)
		for i := *from; i < *to; i++ {
			numbers <- i
		}
	}()
	return numbers
}

// paced repeats the range at the given rate; delays are made up for.
func paced(sent *int) <-chan int {
	numbers := make(chan int)
	go func() {
		defer close(numbers)
		began := time.Now()
		for ; ; *sent++ {
			due := began.Add(time.Duration(float64(*sent) / *rate * float64(time.Second)))
			if due.Sub(began).Seconds() >= *seconds {
				return
			}
			time.Sleep(time.Until(due))
			numbers <- *from + *sent%(*to-*from)
		}
	}()
	return numbers
}

func main() {
	flag.Parse()
	if *kubeconfig == "" || *to <= *from || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "nodeload: --kubeconfig, --from and a greater --to are needed; see --help")
		os.Exit(2)
	}
	began := time.Now()
	var failed int64
	count, verb := *to-*from, "created"
	switch {
	case *rate > 0:
		verb, count = "patched", 0
		failed = work(paced(&count), func(a *api, i int) error {
			return a.do(http.MethodPatch, "/api/v1/nodes/"+nodeName(i)+"/status", heartbeat())
		})
	case *remove:
		verb = "deleted"
		failed = work(each(), func(a *api, i int) error { return a.do(http.MethodDelete, "/api/v1/nodes/"+nodeName(i), nil) })
	default:
		failed = work(each(), func(a *api, i int) error { return a.do(http.MethodPost, "/api/v1/nodes", node(i)) })
	}
	took := time.Since(began).Seconds()
	fmt.Printf("%s %d nodes in %.2f s (%.0f a second), %d failed\n", verb, count, took, float64(count)/took, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
