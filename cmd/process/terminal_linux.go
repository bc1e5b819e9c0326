package process

import "golang.org/x/sys/unix"

// The requests of ioctl that read and change the state of a terminal.
const (
	GetTermios = unix.TCGETS
	SetTermios = unix.TCSETS
)
