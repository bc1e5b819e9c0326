package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Origin says where a value came from.
type Origin string

// The origins, strongest first; a generated key replaces a missing one.
const (
	OriginEnv        Origin = "env"
	OriginFile       Origin = "file"
	OriginConfigFile Origin = "config-file"
	OriginGenerated  Origin = "generated"
	OriginDefault    Origin = "default"
)

// Source is where settings are read from.
type Source struct {
	Environ  []string                          // as os.Environ returns it
	Hostname string                            // default of NODE_NAME
	ReadFile func(string) ([]byte, error)      // default os.ReadFile
	Stat     func(string) (fs.FileInfo, error) // default os.Stat
}

// OS is the source of a real process.
func OS() Source {
	hostname, _ := os.Hostname() // without one NODE_NAME falls back to localhost
	return Source{Environ: os.Environ(), Hostname: hostname}
}

func (s Source) withDefaults() Source {
	if s.ReadFile == nil {
		s.ReadFile = os.ReadFile
	}
	if s.Stat == nil {
		s.Stat = os.Stat
	}
	return s
}

const (
	fileSuffix    = "_FILE"
	configFileKey = "CONFIG_FILE"
	envFile       = ".env"
)

// given is a value that was set.
type given struct {
	name     string // of the setting
	row      int    // in the table
	text     string // what is parsed
	written  string // what was written: differs from text for a document
	variable string // the variable that gave it
	origin   Origin
}

// collector collects the given values with their origin, and unknown variables.
type collector struct {
	src       Source
	names     index
	values    map[string]given
	variables map[string]string // every variable of every layer, for ${VAR}
	used      map[string]bool   // variables that a ${VAR} asked for
	unknown   []string
	warnings  []string
	faults    Faults
	envFile   string // the .env that was found without being asked for
}

// collect reads the layers of src, strongest first.
func collect(src Source, rows []Setting) *collector {
	g := &collector{
		src: src, names: newIndex(rows),
		values: map[string]given{}, variables: map[string]string{}, used: map[string]bool{},
	}
	g.addLayer(environment(src.Environ), OriginEnv)
	g.addConfigFile()
	g.readDocuments()
	return g
}

// environment turns NAME=value pairs into a map.
func environment(pairs []string) map[string]string {
	vars := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		if name, value, ok := strings.Cut(pair, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

// addLayer adds the variables of one layer below those already there.
func (g *collector) addLayer(vars map[string]string, origin Origin) {
	own := map[string]given{}
	for _, variable := range slices.Sorted(maps.Keys(vars)) {
		text := vars[variable]
		if _, above := g.variables[variable]; text == "" && !g.emptyCounts(variable) || above {
			continue
		}
		g.variables[variable] = text
		found, ok := g.find(variable, text, origin)
		if !ok {
			continue
		}
		if twin, twice := own[found.name]; twice {
			g.addFault(found, "one of "+twin.variable+" and "+variable+", not both")
		}
		own[found.name] = found
	}
	for name, found := range own {
		if _, above := g.values[name]; !above && (found.text != "" || g.emptyCounts(name)) {
			g.values[name] = found
		}
	}
}

// emptyCounts reports whether an empty text is a value of a setting.
func (g *collector) emptyCounts(variable string) bool {
	_, row, ok := g.names.find(variable)
	return ok && g.names.rows[row].flags&emptyCounts != 0
}

// find says which setting the variable gives, and reads its file if it names
// one.
func (g *collector) find(variable, text string, origin Origin) (given, bool) {
	if name, row, ok := g.names.find(variable); ok {
		return given{name, row, text, text, variable, origin}, true
	}
	base, isFile := strings.CutSuffix(variable, fileSuffix)
	name, row, ok := g.names.find(base)
	if _, above := g.values[name]; isFile && ok && above {
		return given{}, false // a stronger layer has the value; the file is not read
	}
	if isFile && ok {
		return g.readFile(given{name: name, row: row, written: text, variable: variable, origin: OriginFile})
	}
	if row, ok := g.names.closed(variable); ok {
		f := given{variable, row, text, text, variable, origin}
		g.addFault(f, g.names.rows[row].family.expect)
		return f, false
	}
	g.unknown = append(g.unknown, variable)
	return given{}, false
}

// readFile fills in the content of the file that f names.
func (g *collector) readFile(f given) (given, bool) {
	content, err := g.src.ReadFile(f.written)
	if err != nil {
		g.faults = append(g.faults, Fault{f.variable, f.written, "the path of a readable file: " + withoutPath(err)})
		return f, false
	}
	f.text = strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	f.written = f.text
	return f, true
}

// withoutPath is err without the path that the fault already shows.
func withoutPath(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// addConfigFile adds the layer of CONFIG_FILE, or of .env when there is one.
func (g *collector) addConfigFile() {
	asked, explicit := g.values[configFileKey]
	name := envFile
	if explicit {
		name = asked.text
	}
	content, err := g.src.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && !explicit {
		return
	}
	if err != nil {
		g.faults = append(g.faults, Fault{configFileKey, name, "the path of a readable file: " + withoutPath(err)})
		return
	}
	vars, err := parseEnvFile(string(content))
	if err != nil {
		g.faults = append(g.faults, Fault{configFileKey, name, "NAME=value lines: " + err.Error()})
		return
	}
	if vars[configFileKey] != "" {
		delete(vars, configFileKey)
		g.warnings = append(g.warnings, configFileKey+" has no effect inside "+name)
	}
	if !explicit {
		g.envFile = name
	}
	g.addLayer(vars, OriginConfigFile)
}

// readDocuments reads the settings that are a JSON text or the path of one.
func (g *collector) readDocuments() {
	lookup := func(name string) (string, bool) {
		g.used[name] = true
		value, ok := g.variables[name]
		return value, ok
	}
	for _, name := range slices.Sorted(maps.Keys(g.values)) {
		v := g.values[name]
		if g.names.rows[v.row].flags&document == 0 {
			continue
		}
		doc, err := readDocument(v.text, g.src.ReadFile, lookup)
		if err != nil {
			g.addFault(v, err.Error())
			delete(g.values, name)
			continue
		}
		v.text = doc
		g.values[name] = v
	}
}

func (g *collector) addFault(v given, want string) {
	g.faults = append(g.faults, Fault{v.name, g.names.rows[v.row].displayMember(v.name, v.written), want})
}

// parseEnvFile reads NAME=value lines. A line may start with export; # starts a
// comment; a value in single quotes is taken as it is, in double quotes \n, \t,
// \" and \\ are escapes, and both may span lines. Nothing is expanded, so a
// dollar sign in a password stays one. (That is why no library is used here.)
func parseEnvFile(text string) (map[string]string, error) {
	values := map[string]string{}
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	for line := 1; text != ""; {
		start := line
		name, rest, err := envName(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", start, err)
		}
		value := ""
		if name != "" {
			value, rest, err = envValue(rest)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", start, err)
			}
			if _, dup := values[name]; dup {
				return nil, fmt.Errorf("line %d: %s is given twice", start, name)
			}
			values[name] = value
		}
		line += strings.Count(text[:len(text)-len(rest)], "\n")
		text = rest
	}
	return values, nil
}

// envName cuts the name and its equals sign off text. A blank or comment line
// has no name and is cut off whole.
func envName(text string) (name, rest string, err error) {
	line, after, _ := strings.Cut(text, "\n")
	if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
		return "", after, nil
	}
	name, _, found := strings.Cut(line, "=")
	if !found {
		return "", "", fmt.Errorf("expected NAME=value")
	}
	rest = text[len(name)+1:]
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "export "))
	if name == "" || strings.ContainsAny(name, " \t'\"") {
		return "", "", fmt.Errorf("expected NAME=value")
	}
	return name, rest, nil
}

// envValue cuts the value and its line break off text.
func envValue(text string) (value, rest string, err error) {
	text = strings.TrimLeft(text, " \t")
	if text == "" || text[0] != '\'' && text[0] != '"' {
		line, rest, _ := strings.Cut(text, "\n")
		if i := strings.Index(line, " #"); i >= 0 {
			line = line[:i]
		}
		return strings.TrimSpace(line), rest, nil
	}
	end := closingQuote(text)
	if end < 0 {
		return "", "", fmt.Errorf("the quote is not closed")
	}
	tail, rest, _ := strings.Cut(text[end+1:], "\n")
	if tail = strings.TrimSpace(tail); tail != "" && tail[0] != '#' {
		return "", "", fmt.Errorf("text after the closing quote")
	}
	value = text[1:end]
	if text[0] == '"' {
		value = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(value)
	}
	return value, rest, nil
}

// closingQuote returns the index of the quote that ends text, -1 for none.
func closingQuote(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] == '"':
			i++
		case text[i] == text[0]:
			return i
		}
	}
	return -1
}

var variablePattern = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// readDocument returns the JSON that text is, or that the file text names
// holds, with each ${VAR} in a string replaced by what lookup knows. Its errors
// never hold the document.
func readDocument(text string, readFile func(string) ([]byte, error), lookup func(string) (string, bool)) (string, error) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		content, err := readFile(text)
		if err != nil {
			return "", expected("the path of a readable JSON file, or a JSON object")
		}
		text = string(content)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil || d.More() {
		return "", expected("the path of a JSON file, or a JSON object")
	}
	missing := ""
	filled := expandVariables(doc, func(name string) string {
		value, ok := lookup(name)
		if !ok && missing == "" {
			missing = name
		}
		return value
	})
	if missing != "" {
		return "", expected(fmt.Sprintf("the variable %s to be set, for ${%s}", missing, missing))
	}
	return encodeJSON(filled)
}

// expandVariables replaces ${VAR} in every string of a JSON value.
func expandVariables(v any, value func(name string) string) any {
	switch v := v.(type) {
	case string:
		return variablePattern.ReplaceAllStringFunc(v, func(ref string) string { return value(ref[2 : len(ref)-1]) })
	case []any:
		for i := range v {
			v[i] = expandVariables(v[i], value)
		}
	case map[string]any:
		for key := range v {
			v[key] = expandVariables(v[key], value)
		}
	}
	return v
}

// encodeJSON writes v without escaping <, > and &.
func encodeJSON(v any) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSpace(out.String()), err
}
