package settings

import (
	"regexp"
	"slices"
	"strings"
)

var (
	groupPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$`)
	labelPattern = regexp.MustCompile(`^[0-9A-Za-z._:-]{2,60}$`)
)

// groupsOf is WORKSPACE_GROUPS in either of its forms.
func groupsOf(p *map[string][]string) value {
	const expect = `JSON {"base":["core","shared"]} or text base=core+shared,extra=addon`
	return bind(p, "JSON or text", expect, parseGroups)
}

func parseGroups(text string) (map[string][]string, error) {
	given := map[string][]string{}
	if strings.HasPrefix(text, "{") {
		if decodeJSON(text, &given) != nil {
			return nil, errBad
		}
	} else {
		for _, item := range splitList(text) {
			group, labels, _ := strings.Cut(item, "=")
			group = strings.TrimSpace(group)
			given[group] = append(given[group], strings.Split(labels, "+")...)
		}
	}
	groups := map[string][]string{}
	for group, labels := range given {
		if err := addLabels(groups, group, labels); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// addLabels unites labels with those the group already has.
func addLabels(groups map[string][]string, group string, labels []string) error {
	if !groupPattern.MatchString(group) || len(labels) == 0 {
		return errBad
	}
	for _, label := range labels {
		label = strings.TrimSpace(label)
		if !labelPattern.MatchString(label) {
			return errBad
		}
		if !slices.Contains(groups[group], label) {
			groups[group] = append(groups[group], label)
		}
	}
	return nil
}

// groupLabels collects the labels of one group per setting.
func groupLabels(p *map[string][]string) *family {
	return &family{
		expect: "a comma-separated list of labels (2-60 letters, digits, dots, colons, dashes, underscores)",
		owns:   groupPattern.MatchString,
		set: func(rest, text string) error {
			if *p == nil {
				*p = map[string][]string{}
			}
			return addLabels(*p, rest, splitList(text))
		},
	}
}
