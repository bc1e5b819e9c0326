package vectors

import (
	"hash/fnv"

	"svc/projections/fulltext"
)

// Digest sums up vectors of a base, in whatever order they come.
type Digest struct {
	Documents int
	Sum       uint64
}

// Plus returns the digest of both.
func (d Digest) Plus(other Digest) Digest {
	return Digest{d.Documents + other.Documents, d.Sum + other.Sum}
}

// add adds a key of the index, without the prefix of its base.
func (d *Digest) add(key, value []byte) {
	h := fnv.New64a()
	_, _ = h.Write(append(append([]byte{}, key...), 0)) // never fails
	_, _ = h.Write(value)
	if d.Sum += h.Sum64(); key[0] == sectionRecords {
		d.Documents++
	}
}

// DigestIndex returns the digest of what the index has of a base.
func DigestIndex(r fulltext.Reader, base string) (d Digest, err error) {
	prefix := fulltext.Prefix(base)
	for _, section := range []byte{sectionBlocks, sectionRecords} {
		err := r.Iterate(append(fulltext.Prefix(base), section), nil, false, func(key, value []byte) (bool, error) {
			d.add(key[len(prefix):], value)
			return true, nil
		})
		if err != nil {
			return d, err
		}
	}
	return d, nil
}

// DigestOf returns the digest of what the index is to have of a document.
func DigestOf(id string, sets []Set) (d Digest, err error) {
	stored := memory{}
	if err := Put(stored, "", id, sets); err != nil {
		return d, err
	}
	for key, value := range stored {
		d.add([]byte(key[len(fulltext.Prefix("")):]), value)
	}
	return d, nil
}

// memory is an index of one document.
type memory map[string][]byte

// Get implements fulltext.Getter.
func (m memory) Get(key []byte) ([]byte, bool, error) {
	value, ok := m[string(key)]
	return value, ok, nil
}

// Set implements fulltext.Writer.
func (m memory) Set(key, value []byte) error {
	m[string(key)] = value
	return nil
}

// Delete implements fulltext.Writer.
func (m memory) Delete(key []byte) error {
	delete(m, string(key))
	return nil
}
