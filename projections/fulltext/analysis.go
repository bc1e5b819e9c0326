package fulltext

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
	"golang.org/x/text/unicode/norm"

	"svc/domain/knowledge"
)

// maxTerm is how many bytes of a word count.
const maxTerm = 60

// stemmers are those of Snowball.
var stemmers = map[string]func(*snowballstem.Env) bool{
	"ar": arabic.Stem, "da": danish.Stem, "de": german.Stem, "en": english.Stem, "es": spanish.Stem, "fi": finnish.Stem, "fr": french.Stem, "hu": hungarian.Stem,
	"it": italian.Stem, "nl": dutch.Stem, "no": norwegian.Stem, "pt": portuguese.Stem, "ro": romanian.Stem, "ru": russian.Stem, "sv": swedish.Stem, "tr": turkish.Stem,
}

// suffixes are cut off words of languages that have no stemmer: the first that leaves three letters or more.
var suffixes = map[string][]string{
	"ckb": {"ەکان", "ەکە", "ێک", "ان", "ە"},
	"fa":  {"هایی", "های", "ها", "ات", "ان", "ی"},
	"hi":  {"ियों", "ियाँ", "ाओं", "ाएं", "ों", "ें", "ीं", "ो", "े", "ू", "ु", "ी", "ि", "ा"},
	"hr":  {"ovima", "ima", "ama", "ova", "om", "em", "og", "eg", "im", "ih", "oj", "a", "e", "i", "o", "u"},
	"pl":  {"owie", "ami", "ach", "owi", "ego", "emu", "ymi", "imi", "iej", "ów", "om", "em", "ie", "ym", "im", "ej", "ą", "ę", "y", "i", "a", "e", "u", "o"},
}

// term is a word as it is searched: folded, and stemmed in a language. A stop word is searched as folded only.
type term struct {
	folded, stem string
	isStop       bool
}

// analyser turns words into terms, and remembers them.
type analyser struct {
	known map[string]map[string]term // by language and word
	count int
}

// maxKnown is how many words an analyser remembers.
const maxKnown = 200_000

var analysers = sync.Pool{New: func() any { return &analyser{known: map[string]map[string]term{}} }}

// term returns the term of a word in a language.
func (a *analyser) term(word, language string) term {
	words := a.known[language]
	if t, ok := words[word]; ok {
		return t
	}
	if a.count >= maxKnown {
		clear(a.known)
		words, a.count = nil, 0
	}
	if words == nil {
		words = map[string]term{}
		a.known[language] = words
	}
	a.count++
	word = strings.Clone(word) // not the whole text that it is of
	t := newTerm(word, language)
	words[word] = t
	return t
}

func newTerm(word, language string) term {
	lower := strings.ToLower(word)
	t := term{folded: fold(lower), isStop: knowledge.StopWords(language)[lower]}
	t.stem = t.folded
	if stem := stemmers[language]; stem != nil {
		t.stem = fold(runStemmer(stem, lower))
	}
	for _, suffix := range suffixes[language] {
		if rest, ok := strings.CutSuffix(lower, suffix); ok && utf8.RuneCountInString(rest) >= 3 {
			t.stem = fold(rest)
			break
		}
	}
	return t
}

// runStemmer returns the stem of a word. The stemmers are generated code: a word that one cannot take is its own stem.
func runStemmer(stem func(*snowballstem.Env) bool, word string) (result string) {
	defer func() {
		if recover() != nil {
			result = word
		}
	}()
	env := snowballstem.NewEnv(word)
	stem(env)
	return env.Current()
}

// fold returns a word in lower case without marks, so that words with and without accents are the same.
func fold(word string) string {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf || 'A' <= word[i] && word[i] <= 'Z' {
			word = strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) {
					return -1
				}
				return unicode.ToLower(r)
			}, norm.NFKD.String(word))
			word = norm.NFC.String(word)
			break
		}
	}
	if len(word) > maxTerm {
		n := maxTerm
		for n > 0 && !utf8.RuneStart(word[n]) {
			n--
		}
		word = word[:n]
	}
	return word
}

// stems visits what words of a text are searched by in a language: their stems, for cjk pairs of characters. Stop words
// are left out unless they are wanted.
func (a *analyser) stems(text, language string, withStop bool, visit func(stem string)) {
	last := knowledge.Word{To: -1}
	paired := true // the last character is in a pair, or there is none
	end := func() {
		if !paired {
			visit(fold(last.Text))
		}
		last, paired = knowledge.Word{To: -1}, true
	}
	for w := range knowledge.Words(text) {
		if r, size := utf8.DecodeRuneInString(w.Text); language == "cjk" && size == len(w.Text) && knowledge.IsDense(r) {
			if w.From == last.To {
				visit(fold(last.Text) + fold(w.Text))
				last, paired = w, true
				continue
			}
			end()
			last, paired = w, false
			continue
		}
		end()
		if t := a.term(w.Text, language); (withStop || !t.isStop) && t.stem != "" {
			visit(t.stem)
		}
	}
	end()
}

// words visits the folded words of a text.
func (a *analyser) words(text string, visit func(word string)) {
	for w := range knowledge.Words(text) {
		if t := a.term(w.Text, knowledge.Undetermined); t.folded != "" {
			visit(t.folded)
		}
	}
}
