package knowledge_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/knowledge"
)

func TestTheLanguageOfATextIsFound(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"en":  "The service keeps the events of all workspaces, and what it has read is in the log for as long as they want.",
		"fr":  "Les chevaux sont dans le pré et ils ne veulent pas en sortir avec nous, mais nous avons du temps pour eux.",
		"de":  "Der Dienst hält die Ereignisse aller Arbeitsbereiche, und was er gelesen hat, ist nicht mehr zu ändern, aber zu sehen.",
		"es":  "El servicio guarda los eventos de todos los espacios y lo que ha leído está en el registro para que no se pierda.",
		"it":  "Il servizio conserva gli eventi di tutti gli spazi e quello che ha letto è nel registro perché non si perda con il tempo.",
		"nl":  "De dienst bewaart de gebeurtenissen van alle werkruimten en wat hij heeft gelezen is niet meer te veranderen maar wel te zien.",
		"pt":  "A nossa equipa não tem uma cópia das mensagens que ele já leu, mas são enviadas pelos utilizadores quando ela também está com eles.",
		"sv":  "Tjänsten har alla händelser i loggen och det som den har läst är inte att ändra, men man kan se det när man vill.",
		"pl":  "Usługa przechowuje zdarzenia wszystkich przestrzeni i to, co przeczytała, jest w dzienniku, ale nie można tego już zmienić.",
		"ru":  "Служба хранит события всех рабочих областей.",
		"ar":  "تحفظ الخدمة أحداث جميع مساحات العمل في السجل من أجل البحث",
		"hi":  "सेवा सभी कार्यस्थानों की घटनाओं को रखती है।",
		"cjk": "サービスはすべてのイベントを保存します。",
		"und": "Ο σέρβερ κρατά όλα τα γεγονότα.",
	} {
		require.Equal(t, want, knowledge.DetectLanguage(text, "auto"), "%s", text)
		require.True(t, want == knowledge.Undetermined || slices.Contains(knowledge.Languages, want))
	}
}

func TestAShortTextHasTheLanguageOfItsBase(t *testing.T) {
	t.Parallel()
	require.Equal(t, "und", knowledge.DetectLanguage("Five words are too few", "auto"))
	require.Equal(t, "da", knowledge.DetectLanguage("Five words are too few", "da"))
	require.Equal(t, "und", knowledge.DetectLanguage("", ""))
}

func TestEveryLanguageWithWordsHasStopWords(t *testing.T) {
	t.Parallel()
	for _, language := range knowledge.Languages {
		require.Equal(t, language != "cjk", len(knowledge.StopWords(language)) > 50, "%s", language)
	}
}

func TestWordsAreRunsOfLettersAndDigits(t *testing.T) {
	t.Parallel()
	text := "L'été, v1.2 – naïve_file日本go!"
	var words []string
	for w := range knowledge.Words(text) {
		require.Equal(t, w.Text, text[w.From:w.To])
		words = append(words, w.Text)
	}
	require.Equal(t, []string{"L", "été", "v1", "2", "naïve", "file", "日", "本", "go"}, words)
}
