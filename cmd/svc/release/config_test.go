// Package release_test checks the configuration of releases, and with the tag release what make release built of it.
package release_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const root = "../../.."

// config is what these tests read of deploy/goreleaser.yml.
type config struct {
	Before struct{ Hooks []string }
	Builds []struct {
		Main, Binary             string
		Env, Goos, Goarch, Flags []string
	}
	Archives []struct{ Files []file }
	NFPMs    []struct {
		Contents []file
		Scripts  map[string]string
	} `yaml:"nfpms"`
	SBOMs   []struct{ Args []string } `yaml:"sboms"`
	Dockers []struct {
		Dockerfile string
		Platforms  []string
		BuildArgs  map[string]string `yaml:"build_args"`
	} `yaml:"dockers_v2"`
	Brews   []struct{ Install string }
	Release struct{ Disable bool }
}

type file struct{ Src, Dst, Type string }

func readConfig(t *testing.T) config {
	t.Helper()
	var c config
	require.NoError(t, yaml.Unmarshal([]byte(readText(t, "deploy/goreleaser.yml")), &c))
	return c
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}

// Everything that the configuration names is there, so that a file that is moved does not break the next release.
func TestReleaseConfigNamesWhatIsThere(t *testing.T) {
	c := readConfig(t)
	makefile := readText(t, "Makefile")
	require.Equal(t, []string{"make --no-print-directory release-files"}, c.Before.Hooks)
	require.Contains(t, makefile, "\nrelease-files: clients\n")
	exists := func(name string) {
		t.Helper()
		if made, ok := strings.CutPrefix(name, ".cache/release/svc"); ok { // by make release-files
			require.Contains(t, []string{".1.gz", ".bash", ".zsh", ".fish"}, made)
			return
		}
		require.FileExists(t, filepath.Join(root, name))
	}
	require.Len(t, c.Archives, 1)
	archived := map[string]bool{"svc": true}
	for _, f := range c.Archives[0].Files {
		exists(f.Src)
		archived[f.Dst] = true
	}
	require.Len(t, c.NFPMs, 1)
	for _, f := range c.NFPMs[0].Contents {
		if f.Type != "dir" {
			exists(f.Src)
		}
	}
	for _, script := range c.NFPMs[0].Scripts {
		require.Regexp(t, "^#!/bin/sh\n", readText(t, script))
	}
	require.DirExists(t, filepath.Join(root, c.Builds[0].Main))
	require.Equal(t, []string{"run", "../cmd/sbom"}, c.SBOMs[0].Args[:2])
	require.DirExists(t, filepath.Join(root, "cmd/sbom"))

	installed := regexp.MustCompile(`\.install "([^"]+)"`).FindAllStringSubmatch(c.Brews[0].Install, -1)
	require.Len(t, installed, 5, "the binary, the manual and three completions")
	for _, one := range installed {
		require.True(t, archived[one[1]], "the formula installs %s, which is not in the archive", one[1])
	}
}

// Binaries are static and reproducible, for the platforms that are promised, and nothing is uploaded.
func TestReleaseConfigKeepsItsPromises(t *testing.T) {
	c := readConfig(t)
	require.True(t, c.Release.Disable)
	build := c.Builds[0]
	require.Contains(t, build.Env, "CGO_ENABLED=0")
	require.Contains(t, build.Flags, "-trimpath")
	require.Equal(t, []string{"linux", "darwin"}, build.Goos)
	require.Equal(t, []string{"amd64", "arm64"}, build.Goarch)
	image := c.Dockers[0]
	require.Equal(t, []string{"linux/amd64", "linux/arm64"}, image.Platforms)
	dockerfile := readText(t, image.Dockerfile)
	require.Contains(t, dockerfile, "\nFROM base AS "+image.BuildArgs["BINARY"]+"\n")
	require.Contains(t, dockerfile, "COPY ${TARGETPLATFORM}/"+build.Binary+" ")
}
