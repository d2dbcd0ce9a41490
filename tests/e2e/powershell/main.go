// SPDX-License-Identifier: Apache-2.0

// A powershell.exe that supports only the commands of upstream v0.28.9 under host-gw: routes and
// forwarding. Each command that changes something is appended to the file that WEFT_POWERSHELL
// names, so that file is the state: "powershell.exe -State" prints it as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type route struct {
	IfIndex           int
	DestinationPrefix string
	NextHop           string
}

type state struct {
	Routes     []route
	Forwarding []int // interfaces
	Commands   int   // all that ran, reads included
}

var (
	forwarding = regexp.MustCompile(`Set-NetIPInterface -ifIndex (\d+) -AddressFamily IPv4 -Forwarding Enabled`)
	put        = regexp.MustCompile(`New-NetRoute -InterfaceIndex (\d+) -DestinationPrefix (\S+) -NextHop +(\S+)`)
	remove     = regexp.MustCompile(`Remove-NetRoute -InterfaceIndex (\d+) -DestinationPrefix (\S+) -NextHop +(\S+)`)
	list       = regexp.MustCompile(`Get-NetRoute( -InterfaceIndex (\d+) -DestinationPrefix (\S+))? \| Select-Object -Property IfIndex,DestinationPrefix,NextHop`)
)

func fail(text string) {
	fmt.Println(text)
	os.Exit(1)
}

func number(text string) int {
	value, _ := strconv.Atoi(text)
	return value
}

func replay(commands string) state {
	now := state{Routes: []route{}, Forwarding: []int{}}
	for line := range strings.Lines(commands) {
		now.Commands++
		if found := forwarding.FindStringSubmatch(line); found != nil {
			now.Forwarding = append(now.Forwarding, number(found[1]))
		} else if found := remove.FindStringSubmatch(line); found != nil {
			gone := route{number(found[1]), found[2], found[3]}
			now.Routes = slices.DeleteFunc(now.Routes, func(each route) bool { return each == gone })
		} else if found := put.FindStringSubmatch(line); found != nil {
			now.Routes = append(now.Routes, route{number(found[1]), found[2], found[3]})
		}
	}
	return now
}

func print(value any) {
	text, _ := json.Marshal(value)
	fmt.Println(string(text))
}

func main() {
	path := os.Getenv("WEFT_POWERSHELL")
	command := os.Args[len(os.Args)-1]
	before, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		fail(err.Error())
	}
	if command == "-State" {
		print(replay(string(before)))
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fail(err.Error())
	}
	defer file.Close()
	if _, err := file.WriteString(strings.ReplaceAll(command, "\n", " ") + "\n"); err != nil {
		fail(err.Error())
	}
	if forwarding.MatchString(command) || put.MatchString(command) || remove.MatchString(command) {
		return
	}
	found := list.FindStringSubmatch(command)
	if found == nil {
		fail("this stand-in does not know: " + command)
	}
	routes := replay(string(before)).Routes
	if found[1] != "" {
		routes = slices.DeleteFunc(routes, func(each route) bool {
			return each.IfIndex != number(found[2]) || each.DestinationPrefix != found[3]
		})
	}
	print(routes)
}
