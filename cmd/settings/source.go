package settings

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// Origin says where a value came from.
type Origin string

// The origins, strongest first; a generated key stands in for a missing one.
const (
	OriginEnv        Origin = "env"
	OriginFile       Origin = "file"
	OriginConfigFile Origin = "config-file"
	OriginGenerated  Origin = "generated"
	OriginDefault    Origin = "default"
)

// Source is the world that settings are read from.
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

// given is a value that someone set.
type given struct {
	name     string // of the setting
	row      int    // in the table
	text     string // what is parsed
	written  string // what was written: differs from text for a document
	variable string // the variable that gave it
	origin   Origin
}

// gatherer finds out what was given, by whom, and what is not ours.
type gatherer struct {
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

// gather reads the layers of src, strongest first.
func gather(src Source, rows []Setting) *gatherer {
	g := &gatherer{
		src: src, names: newIndex(rows),
		values: map[string]given{}, variables: map[string]string{}, used: map[string]bool{},
	}
	g.layer(environment(src.Environ), OriginEnv)
	g.configFile()
	g.documents()
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

// layer adds the variables of one layer below those already there.
func (g *gatherer) layer(vars map[string]string, origin Origin) {
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
			g.fault(found, "one of "+twin.variable+" and "+variable+", not both")
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
func (g *gatherer) emptyCounts(variable string) bool {
	_, row, ok := g.names.find(variable)
	return ok && g.names.rows[row].marks&emptyCounts != 0
}

// find says which setting the variable gives, and reads its file if it names
// one.
func (g *gatherer) find(variable, text string, origin Origin) (given, bool) {
	if name, row, ok := g.names.find(variable); ok {
		return given{name, row, text, text, variable, origin}, true
	}
	base, isFile := strings.CutSuffix(variable, fileSuffix)
	name, row, ok := g.names.find(base)
	if _, above := g.values[name]; isFile && ok && above {
		return given{}, false // a stronger layer decides; its file does not matter
	}
	if isFile && ok {
		return g.readFile(given{name: name, row: row, written: text, variable: variable, origin: OriginFile})
	}
	if row, ok := g.names.closed(variable); ok {
		f := given{variable, row, text, text, variable, origin}
		g.fault(f, g.names.rows[row].family.expect)
		return f, false
	}
	g.unknown = append(g.unknown, variable)
	return given{}, false
}

// readFile fills in the content of the file that f names.
func (g *gatherer) readFile(f given) (given, bool) {
	content, err := g.src.ReadFile(f.written)
	if err != nil {
		g.faults = append(g.faults, Fault{f.variable, f.written, "the path of a readable file: " + cause(err)})
		return f, false
	}
	f.text = strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	f.written = f.text
	return f, true
}

// cause is err without the path that the fault already shows.
func cause(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// configFile adds the layer of CONFIG_FILE, or of .env when there is one.
func (g *gatherer) configFile() {
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
		g.faults = append(g.faults, Fault{configFileKey, name, "the path of a readable file: " + cause(err)})
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
	g.layer(vars, OriginConfigFile)
}

// documents reads the settings that are a JSON text or the path of one.
func (g *gatherer) documents() {
	lookup := func(name string) (string, bool) {
		g.used[name] = true
		value, ok := g.variables[name]
		return value, ok
	}
	for _, name := range slices.Sorted(maps.Keys(g.values)) {
		v := g.values[name]
		if g.names.rows[v.row].marks&document == 0 {
			continue
		}
		doc, err := readDocument(v.text, g.src.ReadFile, lookup)
		if err != nil {
			g.fault(v, err.Error())
			delete(g.values, name)
			continue
		}
		v.text = doc
		g.values[name] = v
	}
}

func (g *gatherer) fault(v given, want string) {
	g.faults = append(g.faults, Fault{v.name, g.names.rows[v.row].shownAs(v.name, v.written), want})
}
