package crawler_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// rebindingDomain is where names have the first address when they are looked up for the first time, then the other one.
const rebindingDomain = ".rebinding.test."

var (
	firstAddress = netip.MustParseAddr("127.0.0.1") // that the tests may reach
	otherAddress = netip.MustParseAddr("127.0.0.2")
)

// nameServer answers the questions of the resolver of this process. Names outside of rebindingDomain do not exist.
type nameServer struct {
	mu    sync.Mutex
	asked map[string]int
}

// Dial implements net.Resolver.Dial.
func (s *nameServer) Dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go s.serve(server)
	return client, nil
}

// serve answers questions, each after its length as over TCP, until the client leaves.
func (s *nameServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for {
		var size uint16
		if binary.Read(conn, binary.BigEndian, &size) != nil {
			return
		}
		question := make([]byte, size)
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(question) != nil || len(m.Questions) != 1 {
			return
		}
		s.answer(&m)
		answer, err := m.AppendPack(make([]byte, 2))
		if err != nil {
			return
		}
		binary.BigEndian.PutUint16(answer, uint16(len(answer)-2)) //nolint:gosec // it is short
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

func (s *nameServer) answer(m *dnsmessage.Message) {
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	switch {
	case !strings.HasSuffix(q.Name.String(), rebindingDomain):
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		s.mu.Lock()
		defer s.mu.Unlock()
		address := firstAddress
		if s.asked[q.Name.String()]++; s.asked[q.Name.String()] > 1 {
			address = otherAddress
		}
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: address.As4()},
		}}
	}
}
