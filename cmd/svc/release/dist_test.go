//go:build release

package release_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// release is what make release built.
type release struct {
	Dir     string
	Version string
	Commit  string
}

func openRelease(t *testing.T) release {
	t.Helper()
	r := release{Dir: filepath.Join(root, "dist")}
	text, err := os.ReadFile(filepath.Join(r.Dir, "metadata.json"))
	require.NoError(t, err, "run: make release")
	require.NoError(t, json.Unmarshal(text, &r))
	require.NotEmpty(t, r.Commit)
	return r
}

// archive unpacks the archive of a platform, such as linux_amd64, and returns where.
func (r release) archive(t *testing.T, platform string) string {
	t.Helper()
	f, err := os.Open(filepath.Join(r.Dir, "svc_"+r.Version+"_"+platform+".tar.gz"))
	require.NoError(t, err)
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	require.NoError(t, err)
	dir := t.TempDir()
	for entries := tar.NewReader(unzipped); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		require.NoError(t, err)
		require.True(t, filepath.IsLocal(h.Name), h.Name)
		at := filepath.Join(dir, h.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		content, err := io.ReadAll(entries)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(at, content, h.FileInfo().Mode()))
	}
}

func output(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), name, arguments...).CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(arguments, " "), said)
	return string(said)
}

func hashOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// The binaries of Linux are static, those of macOS are of the right machine, and the one of this machine tells its
// version and commit.
func TestBinaries(t *testing.T) {
	r := openRelease(t)
	for platform, machine := range map[string]elf.Machine{"linux_amd64": elf.EM_X86_64, "linux_arm64": elf.EM_AARCH64} {
		f, err := elf.Open(filepath.Join(r.archive(t, platform), "svc"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		require.Equal(t, machine, f.Machine)
		for _, p := range f.Progs {
			require.NotEqual(t, elf.PT_INTERP, p.Type, "%s has an interpreter: it is not static", platform)
		}
		libraries, err := f.ImportedLibraries()
		require.NoError(t, err)
		require.Empty(t, libraries)
	}
	for platform, machine := range map[string]macho.Cpu{"darwin_amd64": macho.CpuAmd64, "darwin_arm64": macho.CpuArm64} {
		f, err := macho.Open(filepath.Join(r.archive(t, platform), "svc"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		require.Equal(t, machine, f.Cpu)
	}
	version := output(t, filepath.Join(r.archive(t, "linux_amd64"), "svc"), "version")
	require.Contains(t, version, r.Version)
	require.Contains(t, version, r.Commit)
}

// Every file that is published has its checksum.
func TestChecksums(t *testing.T) {
	r := openRelease(t)
	text, err := os.ReadFile(filepath.Join(r.Dir, "checksums.txt"))
	require.NoError(t, err)
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		sums[fields[1]] = fields[0]
	}
	require.Len(t, sums, 4+4+2+1, "archives, SBOMs, packages, the client for TypeScript")
	for name, sum := range sums {
		at := filepath.Join(r.Dir, name)
		if strings.HasPrefix(name, "svc-client-") {
			at = filepath.Join(root, ".cache/clients", name)
		}
		require.Equal(t, sum, hashOf(t, at), name)
	}
}

// The Debian package has what it should where Debian wants it, and what it installs works.
func TestDebianPackage(t *testing.T) {
	r := openRelease(t)
	packages, err := filepath.Glob(filepath.Join(r.Dir, "*_amd64.deb"))
	require.NoError(t, err)
	require.Len(t, packages, 1)
	require.Equal(t, "svc\n", output(t, "dpkg-deb", "--field", packages[0], "Package"))
	require.Equal(t, strings.Replace(r.Version, "-", "~", 1)+"\n", output(t, "dpkg-deb", "--field", packages[0], "Version"))
	contents := output(t, "dpkg-deb", "--contents", packages[0])
	for _, line := range []string{
		`-rwxr-xr-x root/root .* \./usr/bin/svc`, `-rw-r--r-- root/root .* \./usr/lib/systemd/system/svc\.service`, `drwx------ root/root .* \./etc/svc/`,
		`-rw-r--r-- .* \./usr/share/man/man1/svc\.1\.gz`, `-rw-r--r-- .* \./usr/share/bash-completion/completions/svc`,
		`-rw-r--r-- .* \./usr/share/zsh/vendor-completions/_svc`, `-rw-r--r-- .* \./usr/share/fish/vendor_completions\.d/svc\.fish`,
	} {
		require.Regexp(t, `(?m)^`+line+`$`, contents)
	}
	dir := t.TempDir()
	output(t, "dpkg-deb", "--extract", packages[0], dir)
	require.Contains(t, output(t, filepath.Join(dir, "usr/bin/svc"), "version"), r.Version)
	require.Equal(t, readText(t, "docs/man/svc.1"), output(t, "gzip", "-dc", filepath.Join(dir, "usr/share/man/man1/svc.1.gz")))
	output(t, "bash", "-n", filepath.Join(dir, "usr/share/bash-completion/completions/svc"))
	control := t.TempDir()
	output(t, "dpkg-deb", "--control", packages[0], control)
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		output(t, "sh", "-n", filepath.Join(control, script))
	}
}

// The formula names archives that are there, with their hashes, and installs files that are in them.
func TestHomebrewFormula(t *testing.T) {
	r := openRelease(t)
	text, err := os.ReadFile(filepath.Join(r.Dir, "homebrew/Formula/svc.rb"))
	require.NoError(t, err)
	require.Contains(t, string(text), `version "`+r.Version+`"`)
	named := regexp.MustCompile(`url "https://\S+/(svc_\S+_(\w+)_(\w+)\.tar\.gz)"\n\s+sha256 "([0-9a-f]{64})"`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, named, 4)
	for _, one := range named {
		require.Equal(t, one[4], hashOf(t, filepath.Join(r.Dir, one[1])), one[1])
		unpacked := r.archive(t, one[2]+"_"+one[3])
		for _, installed := range regexp.MustCompile(`\.install "([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			require.FileExists(t, filepath.Join(unpacked, installed[1]))
		}
	}
}

// Each SBOM lists the modules that its binary tells, and no other, with valid references.
func TestSBOMs(t *testing.T) {
	r := openRelease(t)
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		binary := filepath.Join(r.archive(t, platform), "svc")
		info, err := buildinfo.ReadFile(binary)
		require.NoError(t, err)
		want := []string{"stdlib " + strings.TrimPrefix(info.GoVersion, "go")}
		for _, m := range info.Deps {
			want = append(want, m.Path+" "+m.Version)
		}
		var bom struct {
			BOMFormat, SpecVersion, SerialNumber string
			Metadata                             struct {
				Component struct {
					Version string
					Ref     string `json:"bom-ref"`
					Hashes  []struct{ Alg, Content string }
				}
			}
			Components []struct {
				Type, Name, Version, Purl string
				Ref                       string `json:"bom-ref"`
			}
			Dependencies []struct {
				Ref       string
				DependsOn []string
			}
		}
		text, err := os.ReadFile(filepath.Join(r.Dir, "svc_"+r.Version+"_"+platform+".cdx.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &bom))
		require.Equal(t, "CycloneDX 1.6", bom.BOMFormat+" "+bom.SpecVersion)
		require.Regexp(t, `^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, bom.SerialNumber)
		require.Equal(t, r.Version, bom.Metadata.Component.Version)
		require.Equal(t, hashOf(t, binary), bom.Metadata.Component.Hashes[0].Content)
		refs := map[string]bool{bom.Metadata.Component.Ref: true}
		var have []string
		for _, c := range bom.Components {
			require.False(t, refs[c.Ref], "%s is there twice", c.Ref)
			refs[c.Ref] = true
			require.Equal(t, "library", c.Type)
			require.Regexp(t, `^pkg:golang/\S+@\S+$`, c.Purl)
			have = append(have, c.Name+" "+c.Version)
		}
		require.ElementsMatch(t, want, have)
		require.Greater(t, len(have), 20)
		for _, d := range bom.Dependencies {
			require.True(t, refs[d.Ref])
			for _, ref := range d.DependsOn {
				require.True(t, refs[ref], ref)
			}
		}
	}
}

// The same commit gives the same bytes, also in another directory.
func TestReleaseIsReproducible(t *testing.T) {
	r := openRelease(t)
	at, err := filepath.Abs(root)
	require.NoError(t, err)
	clone := filepath.Join(t.TempDir(), "clone")
	output(t, "git", "clone", "--quiet", "--no-checkout", at, clone)
	output(t, "git", "-C", clone, "checkout", "--quiet", "--detach", r.Commit)
	output(t, "make", "-C", clone, "release", "GORELEASER="+filepath.Join(at, ".cache/bin/goreleaser"))
	for _, name := range []string{"checksums.txt", "homebrew/Formula/svc.rb"} {
		want, err := os.ReadFile(filepath.Join(r.Dir, name))
		require.NoError(t, err)
		have, err := os.ReadFile(filepath.Join(clone, "dist", name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(have), "%s: was dist built of changes that are not committed?", name)
	}
}
