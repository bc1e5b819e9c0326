package livetest

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// Ports below those that the kernel gives out by itself.
const (
	firstPort = 10_000
	manyPorts = 20_000
)

var nextPort atomic.Int64

// Ports returns ports that nothing listens on. The kernel gives none of them to anybody who
// asks for any, and no other test of this process gets them.
func Ports(n int) (ports []int) {
	for range manyPorts {
		if len(ports) == n {
			return ports
		}
		port := firstPort + (os.Getpid()*211+int(nextPort.Add(1)))%manyPorts
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			ports = append(ports, port)
		}
	}
	panic("no port is free")
}
