package archive

import (
	"archive/zip"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
)

// zipRoot is the folder that all files of an exported workspace are in, whatever
// the version.
const zipRoot = "current/"

// WriteZip writes a tree as an archive: the same tree gives the same bytes. w is
// left open.
func (t Tree) WriteZip(w io.Writer) error {
	entries := make(map[string][]byte, len(t))
	for p, text := range t {
		entries[zipRoot+p] = text
	}
	return writeStored(w, entries)
}

// writeStored writes entries sorted by name, uncompressed, with nothing about
// them that is not their content: a compressor of another version would give
// other bytes.
func writeStored(w io.Writer, entries map[string][]byte) error {
	z := zip.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		text := entries[name]
		header := &zip.FileHeader{
			Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(text),
			CompressedSize64: uint64(len(text)), UncompressedSize64: uint64(len(text)),
			ReaderVersion: 20, Flags: utf8Flag,
		}
		header.ModifiedDate = 1<<5 | 1 //nolint:staticcheck // 1980-01-01; Modified is not looked at when an entry is written raw
		header.SetMode(fs.FileMode(0o644))
		entry, err := z.CreateRaw(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(text); err != nil {
			return err
		}
	}
	return z.Close()
}

// Bits of the flags of an entry.
const (
	encryptedFlags = 1<<0 | 1<<6 | 1<<13
	utf8Flag       = 1 << 11
)
