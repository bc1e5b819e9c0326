package kbdocument

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"svc/domain/knowledge"
)

// EmbeddedText is what a model turns into the vector of a passage.
func EmbeddedText(title string, c knowledge.Chunk) string {
	parts := c.Headings
	if title != "" {
		parts = append([]string{title}, parts...)
	}
	return strings.Join(parts, " > ") + "\n" + c.Text
}

// PassageHash is what a passage is known by: one with the same hash has the same vector. The title is not part of it,
// because another title calls no model.
func PassageHash(c knowledge.Chunk) [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join(c.Headings, "\x00") + "\n" + c.Text))
}

// StoredVectors are the vectors of the passages of a document, in their order.
type StoredVectors struct {
	Dimensions int
	Hashes     [][sha256.Size]byte // of the passages
	Values     []float32           // of one passage after the other
}

// Vector returns the vector of a passage.
func (v StoredVectors) Vector(i int) []float32 { return v.Values[i*v.Dimensions : (i+1)*v.Dimensions] }

// vectorsMagic begins stored vectors, and tells their format.
const vectorsMagic = "vec1"

// Encode returns vectors as they are stored: a header, the hashes, the values as little-endian float32.
func (v StoredVectors) Encode() []byte {
	body := []byte(vectorsMagic)
	body = binary.LittleEndian.AppendUint32(body, uint32(v.Dimensions))
	body = binary.LittleEndian.AppendUint32(body, uint32(len(v.Hashes)))
	for _, h := range v.Hashes {
		body = append(body, h[:]...)
	}
	for _, f := range v.Values {
		body = binary.LittleEndian.AppendUint32(body, math.Float32bits(f))
	}
	return body
}

var errVectors = errors.New("stored vectors are damaged")

// ParseVectors reads stored vectors.
func ParseVectors(body []byte) (v StoredVectors, err error) {
	const header = len(vectorsMagic) + 8
	if len(body) < header || string(body[:len(vectorsMagic)]) != vectorsMagic {
		return v, errVectors
	}
	dimensions, count := uint64(binary.LittleEndian.Uint32(body[4:])), uint64(binary.LittleEndian.Uint32(body[8:]))
	body = body[header:]
	if dimensions > 1<<20 || count > knowledge.MaxChunks || uint64(len(body)) != count*(sha256.Size+4*dimensions) {
		return v, errVectors
	}
	v.Dimensions, v.Hashes, v.Values = int(dimensions), make([][sha256.Size]byte, count), make([]float32, count*dimensions)
	for i := range v.Hashes {
		v.Hashes[i] = [sha256.Size]byte(body)
		body = body[sha256.Size:]
	}
	for i := range v.Values {
		v.Values[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
	}
	return v, nil
}
