// Command sbom writes the software bill of materials of a Go binary: the modules that are linked into it, as CycloneDX 1.6
// in JSON. It reads them from the binary, so that the document says what is in it and not what go.mod allows. The same
// binary always gives the same document.
//
//	go run ./cmd/sbom -version 1.2.3 dist/svc svc.cdx.json
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

func main() {
	version := flag.String("version", "dev", "the version of the binary")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom [-version VERSION] BINARY DOCUMENT")
		os.Exit(2)
	}
	if err := write(flag.Arg(0), *version, flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write describes a binary in a document.
func write(binary, version, document string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read the modules of %s: %w", binary, err)
	}
	content, err := os.ReadFile(binary) //nolint:gosec // the file that the caller names
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(describe(info, filepath.Base(binary), version, sha256.Sum256(content)), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(document, append(text, '\n'), 0o644) //nolint:gosec // it is published
}

// The parts of a CycloneDX document that are used here.
type (
	bom struct {
		Format       string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		SerialNumber string       `json:"serialNumber"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Component  component  `json:"component"`
		Properties []property `json:"properties"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Scope      string     `json:"scope,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		PackageURL string     `json:"purl,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// describe returns the document of a binary with the given name and hash.
func describe(info *debug.BuildInfo, name, version string, sum [sha256.Size]byte) bom {
	self := component{
		Type: "application", Ref: "pkg:golang/" + info.Main.Path + "@" + version, Name: name, Version: version,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
	}
	modules := []component{library("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, library(m.Path, m.Version, m.Sum))
	}
	tree := []dependency{{Ref: self.Ref}}
	for _, m := range modules {
		tree[0].DependsOn = append(tree[0].DependsOn, m.Ref)
		tree = append(tree, dependency{Ref: m.Ref})
	}
	var build []property
	for _, s := range info.Settings {
		build = append(build, property{"go:build:" + s.Key, s.Value})
	}
	return bom{
		Format: "CycloneDX", SpecVersion: "1.6", SerialNumber: serialNumber(sum), Version: 1,
		Metadata: metadata{self, build}, Components: modules, Dependencies: tree,
	}
}

// library describes a module. Its sum is that of go.sum, which is not the hash of a file.
func library(path, version, sum string) component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := component{Type: "library", Ref: url, Name: path, Version: version, Scope: "required", PackageURL: url}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}

// serialNumber returns a UUID (version 8, of a hash) that is the same for the same binary.
func serialNumber(sum [sha256.Size]byte) string {
	id := sum
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:16])
}
