package streams

import "hash/fnv"

// Share is the one of so many shares that a name belongs to.
func Share(name string, shares int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return int(h.Sum32() % uint32(shares))
}
