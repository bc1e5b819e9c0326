package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/suites"
)

// writeShop writes a workspace with an automation and its tests.
func writeShop(t *testing.T, dir, output string) {
	t.Helper()
	writeFile(t, dir, "index.yml", "name: Shop\nslug: shop\n")
	writeFile(t, dir, "automations/greet.yml", "slug: greet\nname: Greet\ndo:\n  - fetch:\n      url: https://names.example.com/{{id}}\n      output: r\noutput: "+output+" {{r.name}}\n")
	writeFile(t, dir, "tests/greet.yml", "slug: greet\nautomation: greet\nstubs:\n  fetch:\n    - url: https://names.example.com/*\n      answer:\n        body:\n          name: Ada\ncases:\n"+
		"  - name: somebody is greeted\n    input:\n      id: 1\n    expect:\n      output: Hello Ada\n  - name: one request is made\n    input:\n      id: 7\n    expect:\n      fetches:\n        - url: https://names.example.com/7\n")
}

func TestSuitesOfADirectoryRun(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t).signIn(t)
	dir := t.TempDir()
	writeShop(t, dir, "Hello")
	d.must(t, "apply", dir)
	out := d.must(t, "test", dir)
	require.Regexp(t, `^greet\n  ok    somebody is greeted \(\d+ ms\)\n  ok    one request is made \(\d+ ms\)\n2 passed, 0 failed \(\d+ ms\)\n$`, out)

	writeShop(t, dir, "Goodbye") // it is not saved
	got := d.run(t, "test", dir)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "svc: 1 case failed")
	require.Contains(t, got.out, "  FAIL  somebody is greeted")
	require.Contains(t, got.out, "        output: another value\n          expected  \"Hello Ada\"\n          got       \"Goodbye Ada\"\n")
	require.Contains(t, d.must(t, "test", dir, "--run", "ONE request"), "1 passed, 0 failed")
	got = d.run(t, "test", dir, "--json", "--automation", "greet")
	require.Equal(t, 1, got.code)
	var report suites.Report
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.Equal(t, []string{"greet: somebody is greeted"}, report.FailedCases())

	writeFile(t, dir, "tests/bad.yml", "automation: greet\ncases: [\n")
	require.Contains(t, d.requireFailure(t, 1, "test", dir), "tests/bad.yml")
	require.NoError(t, os.Remove(filepath.Join(dir, "tests/bad.yml")))
	require.Contains(t, d.requireFailure(t, 1, "test", dir, "--run", "nothing"), "there are no cases to run")
	require.Contains(t, d.requireFailure(t, 2, "test", dir, "--from-runs", "5"), "--from-runs needs --automation")
	require.Contains(t, d.requireFailure(t, 2, "test", dir, "--local", "--against-runs", "5"), "has no recorded runs")
}

func TestSuitesRunInAServiceOfTheirOwn(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t) // without a profile
	dir := t.TempDir()
	writeShop(t, dir, "Hello")
	require.Contains(t, d.must(t, "test", dir), "2 passed, 0 failed")
	require.NoDirExists(t, filepath.Join(dir, linkDir))
}

func TestCasesAreMadeOfRuns(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t).signIn(t)
	dir := t.TempDir()
	writeFile(t, dir, "index.yml", "name: Shop\nslug: shop\n")
	writeFile(t, dir, "automations/twice.yml", "slug: twice\nname: Twice\ndo: []\noutput:\n  r: '{% {{n}} * 2 %}'\n")
	d.must(t, "apply", dir)
	require.Contains(t, d.must(t, "test", dir, "--from-runs", "5", "--automation", "twice"), "no case was made")
	for _, n := range []string{"2", "3", "3"} {
		d.call(t, "POST", "/workspaces/slug:shop/test/twice?record=true", d.tok, `{"payload":{"n":`+n+`}}`)
	}
	out := d.must(t, "test", dir, "--from-runs", "5", "--automation", "twice")
	require.Contains(t, out, "it is like another run")
	require.Contains(t, out, "2 cases written to tests/twice-runs.yml")
	d.must(t, "test", dir, "--from-runs", "5", "--automation", "twice") // adds nothing
	require.Contains(t, d.must(t, "test", dir), "2 passed, 0 failed")

	require.Equal(t, "no automation is changed\n", d.must(t, "test", dir, "--against-runs", "5"))
	writeFile(t, dir, "automations/twice.yml", "slug: twice\nname: Twice\ndo: []\noutput:\n  r: '{% {{n}} * 3 %}'\n")
	got := d.run(t, "test", dir, "--against-runs", "5")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.out, "output.r: another value\n          expected  6\n          got       9\n")
	require.Contains(t, got.out, "  0 same, 3 different, 0 skipped\n")
	require.Contains(t, d.run(t, "test", dir, "--against-runs", "5", "--json").out, `"different": 3`)
}
