package knowledge

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
)

// Languages are the codes of languages that texts are analysed in. Undetermined is the code of all others.
var Languages = strings.Fields("ar ckb cjk da de en es fa fi fr hi hr hu it nl no pl pt ro ru sv tr")

// Undetermined is the code of a text in a language that is not known: its words are searched as they are written.
const Undetermined = "und"

// stopWordLists has one line for each language: its code, then its words. The lists are those of Snowball and Lucene
// (BSD and Apache licence).
//
//go:embed stopwords.txt
var stopWordLists string

// stopWords are the sets of stop words by language.
var stopWords = sync.OnceValue(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for line := range strings.Lines(stopWordLists) {
		words := strings.Fields(line)
		set := make(map[string]bool, len(words))
		for _, w := range words[1:] {
			set[w] = true
		}
		all[words[0]] = set
	}
	return all
})

// StopWords returns the words of a language that say nothing about a text, in lower case. It must not be changed.
func StopWords(language string) map[string]bool { return stopWords()[language] }

const (
	detectionWords = 5000 // the first words of a text decide
	minHits        = 5    // stop words that a language needs to be the one of a text
	minLead        = 1.3  // times the hits of the second language
)

// DetectLanguage returns the language of a text: by its script, and among languages of one script by their stop words.
// Where they do not decide it is fallback, the language of the base; "auto" and "" stand for Undetermined.
func DetectLanguage(text, fallback string) string {
	if fallback == "" || fallback == "auto" {
		fallback = Undetermined
	}
	letters := 0
	scripts := map[string]int{}
	words := make([]string, 0, 256)
	for w := range Words(text) {
		if len(words) == detectionWords {
			break
		}
		words = append(words, strings.ToLower(w.Text))
		for _, r := range w.Text {
			if unicode.IsLetter(r) {
				letters++
				scripts[scriptOf(r)]++
			}
		}
	}
	for script, n := range scripts {
		if 2*n <= letters {
			continue
		}
		switch script {
		case "latin":
			return byStopWords(words, strings.Fields("da de en es fi fr hr hu it nl no pl pt ro sv tr"), fallback)
		case "ar":
			return byStopWords(words, []string{"ar", "fa", "ckb"}, "ar")
		case "":
		default:
			return script
		}
	}
	return fallback
}

// scriptOf returns the language of a letter's script, latin or "" where that does not decide.
func scriptOf(r rune) string {
	switch {
	case r < 0x250 || unicode.Is(unicode.Latin, r):
		return "latin"
	case unicode.Is(unicode.Cyrillic, r):
		return "ru"
	case unicode.Is(unicode.Arabic, r):
		return "ar"
	case unicode.Is(unicode.Devanagari, r):
		return "hi"
	case IsDense(r) || unicode.Is(unicode.Hangul, r):
		return "cjk"
	}
	return ""
}

// byStopWords returns the one of languages whose stop words are most in words, if it is clearly ahead.
func byStopWords(words, languages []string, fallback string) string {
	best, most, second := fallback, 0, 0
	for _, language := range languages {
		set, hits := StopWords(language), 0
		for _, w := range words {
			if set[w] {
				hits++
			}
		}
		if hits > most {
			best, most, second = language, hits, most
		} else {
			second = max(second, hits)
		}
	}
	if most < minHits || float64(most) < minLead*float64(second) {
		return fallback
	}
	return best
}
