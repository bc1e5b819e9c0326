package identity

import (
	"bytes"

	"svc/commands/cache"
)

// memory keeps what was made of stored values. A value is read for each request,
// so that a change counts at once; it is taken apart only when it is another one.
// What is made must not be changed.
type memory[T any] struct {
	cache *cache.Cache[string, remembered[T]]
	make  func(stored []byte) (T, error)
}

type remembered[T any] struct {
	stored []byte
	made   T
}

func newMemory[T any](size int, make func([]byte) (T, error)) *memory[T] {
	return &memory[T]{cache.New[string, remembered[T]](size), make}
}

// of returns what is made of the value that is stored under key now.
func (m *memory[T]) of(key string, stored []byte) (T, error) {
	if have, ok := m.cache.Get(key); ok && bytes.Equal(have.stored, stored) {
		return have.made, nil
	}
	made, err := m.make(stored)
	if err == nil {
		m.cache.Set(key, remembered[T]{stored, made})
	}
	return made, err
}
