package settings

import (
	"fmt"
	"strings"
)

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
