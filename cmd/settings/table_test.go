package settings

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// contractRow is one name of a row of the contract.
type contractRow struct {
	name, alias, def, unit, part string
	live, secret                 bool
}

func TestTableIsTheContracts(t *testing.T) {
	rows := append(contractRows(t, "testdata/contract_settings.md", 3), contractRows(t, "testdata/contract_knowledge.md", -1)...)
	ours := map[string]Setting{}
	for _, s := range Table() {
		require.NotContains(t, ours, s.Name, "declared twice")
		ours[s.Name] = s
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s, ok := ours[row.name]
			require.True(t, ok, "not in the table")
			require.Equal(t, row.def, strings.ReplaceAll(s.Default, "`", ""))
			require.Equal(t, row.live, s.Live(), "live")
			require.Equal(t, row.secret, s.Secret(), "secret")
			if row.part != "" {
				require.Equal(t, row.part, string(s.Part))
			}
			if row.alias != "" {
				require.Contains(t, s.Aliases, row.alias)
			}
		})
	}
	require.Len(t, rows, len(ours)-len(beyondContract), "a setting that the contract does not know")
	for _, name := range beyondContract {
		require.Contains(t, ours, name)
	}
}

// beyondContract are settings that the contract asks for without a name, or that we added:
// docs/adr/README.md lists them.
var beyondContract = []string{"DISABLED_SERVICES"}

var braces = regexp.MustCompile(`\{([A-Z]+(?:,[A-Z]+)+)\}`)

// contractRows reads a table of the contract; part is the column of the part.
func contractRows(t *testing.T, file string, part int) []contractRow {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var rows []contractRow
	for line := range strings.Lines(string(content)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "Name" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		names := contractNames(cells[0])
		defs := contractDefaults(strings.ReplaceAll(cells[1], "`", ""), len(names))
		for i := range names {
			names[i].def, names[i].unit = defs[i], cells[2]
			if part >= 0 {
				names[i].part = cells[part]
			}
		}
		rows = append(rows, names...)
	}
	return rows
}

// contractNames reads the first cell of a row: names with S, (L) and (alias X);
// a (L) at the end counts for all.
func contractNames(cell string) []contractRow {
	if m := braces.FindStringSubmatchIndex(cell); m != nil {
		var names []contractRow
		for word := range strings.SplitSeq(cell[m[2]:m[3]], ",") {
			names = append(names, contractRow{name: cell[:m[0]] + word + cell[m[1]:]})
		}
		return names
	}
	var names []contractRow
	for item := range strings.SplitSeq(cell, ", ") {
		words := strings.Fields(item)
		row := contractRow{name: words[0], secret: slices.Contains(words, "S"), live: slices.Contains(words, "(L)")}
		if _, alias, ok := strings.Cut(item, "(alias "); ok {
			row.alias = strings.TrimSuffix(alias, ")")
		}
		if strings.HasPrefix(row.name, "_") { // NATS_CLUSTER_TLS_CERT_FILE, _KEY_FILE
			row.name = strings.TrimSuffix(names[0].name, "_CERT_FILE") + row.name
		}
		names = append(names, row)
	}
	if names[len(names)-1].live {
		for i := range names {
			names[i].live = true
		}
	}
	return names
}

// contractDefaults gives each of n names its default.
func contractDefaults(cell string, n int) []string {
	separator := ", "
	if strings.Contains(cell, "; ") {
		separator = "; "
	}
	cell = strings.TrimSuffix(cell, ", -1 off") // belongs to the unit
	if parts := strings.Split(cell, separator); n > 1 && len(parts) == n {
		return parts
	}
	return slices.Repeat([]string{cell}, n)
}

func TestEveryPlainDefaultIsAccepted(t *testing.T) {
	for _, s := range append(Table(), platformTable(new(PlatformRepository))...) {
		if text := s.plainDefault(); text != "" {
			require.NoError(t, s.value.set(text), s.Name)
		}
		require.NotEmpty(t, s.Meaning, s.Name)
		if !s.Family() {
			require.NotEmpty(t, s.value.expect, s.Name)
			require.NotEmpty(t, s.value.kind, s.Name)
		}
	}
}

// Each row fills one field, no two rows the same, and no field is left over.
func TestEveryRowHasItsOwnField(t *testing.T) {
	owner := map[string]string{}
	for i, row := range Table() {
		if row.Family() {
			continue
		}
		c := new(Config)
		before := leaves(reflect.ValueOf(*c), "")
		setSomething(t, table(c)[i])
		for path, value := range leaves(reflect.ValueOf(*c), "") {
			if value != before[path] {
				require.Empty(t, owner[path], "%s and %s fill %s", owner[path], row.Name, path)
				owner[path] = row.Name
			}
		}
	}
	families := []string{".Bulk.Repositories", ".Runtime.GlobalVars", ".Runtime.WorkspaceConfig", ".Runtime.AppConfig", ".Runtime.WorkspaceSecrets"}
	for path := range leaves(reflect.ValueOf(Config{}), "") {
		require.True(t, owner[path] != "" || slices.Contains(families, path), "no row fills %s", path)
	}
}

// leaves lists the fields of the nested structs in v as text.
func leaves(v reflect.Value, path string) map[string]string {
	if v.Kind() != reflect.Struct {
		return map[string]string{path: fmt.Sprintf("%v", v)}
	}
	all := map[string]string{}
	for i := range v.NumField() {
		maps.Copy(all, leaves(v.Field(i), path+"."+v.Type().Field(i).Name))
	}
	return all
}

// setSomething gives row a value that is not zero.
func setSomething(t *testing.T, row Setting) {
	t.Helper()
	before := row.value.canon()
	for _, text := range []string{
		"true", "warn", "7", "3", "100mb", "14d", "auto", "json", "all", "RSA", "always_on", "RS256", "group", "public", "429", "5s", "text", "https",
		"https://x/v2", "nats://x", "a=b", ".x", ":1", "127.0.0.1:1", "a@b.org", "image/png", "0 0 * * *", "Europe/Paris", "en", "svc-crawler", "10.0.0.0/8", "0.5", `{"a":1}`,
		"base=core", goodAPI, `[{"client_id":"a","redirect_uris":["https://x/"]}]`, `[{"kid":"k","key":"` + goodKey + `","active":true}]`, "https://a.org", "2048", "crawler",
	} {
		if row.value.set(text) == nil && (row.Secret() || row.flags&document != 0 || row.value.canon() != before) {
			return
		}
	}
	t.Fatalf("nothing fits %s", row.Name)
}

func TestDocsGolden(t *testing.T) {
	const golden = "../../docs/config.md"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(Docs()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), Docs(), "run: go test ./cmd/settings -update")
}

func TestDocsNameEverySetting(t *testing.T) {
	page := Docs()
	for _, s := range Table() {
		require.Contains(t, page, "\n| "+s.Name+" ", s.Name)
	}
}
