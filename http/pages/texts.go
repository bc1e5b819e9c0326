package pages

import (
	"strings"

	"svc/domain/page"
)

// texts are the texts of the platform on pages, in one language.
type texts struct {
	Skip, MainMenu, Breadcrumbs, Pages, Close, Send, Submit, Signin, Signup, Loading, Select, NoRows, FormFaults, Menu, Yes, No, Sure string
	LeftOut, BlockError, NotFound, NotFoundText, Forbidden, ForbiddenText, SigninText, Busy, BusyText, Failed, FailedText             string
	TooLarge, TooLargeText, SigninExpired, SigninExpiredText                                                                          string
	SelectRow, Chart, Table, Home, Offline                                                                                            string
	rules                                                                                                                             map[string]string
}

// textsByLanguage has the languages that the platform speaks on pages.
var textsByLanguage = map[string]*texts{
	"en": {
		Skip: "Skip to content", MainMenu: "Main menu", Breadcrumbs: "Breadcrumbs", Pages: "Pages", Close: "Close", Send: "Send", Submit: "Submit",
		Signin: "Sign in", Signup: "Sign up", Loading: "Loading…", Select: "Select", NoRows: "No entries", FormFaults: "Please check the fields below.",
		Menu: "Menu", Yes: "Yes", No: "No", Sure: "Are you sure?",
		LeftOut: "and # more", BlockError: "This part of the page cannot be shown.", NotFound: "Page not found",
		NotFoundText: "There is no page at this address. It may have moved, or the address has a typing error.", Forbidden: "No access",
		ForbiddenText: "Your account may not see this page. Ask its owner to share it with you.", SigninText: "Please sign in to see this page.",
		Busy: "Please try again in a moment", BusyText: "The service has too much to do just now.", Failed: "Something went wrong",
		TooLarge: "That is too large", TooLargeText: "What you sent is larger than the page takes. Go back and choose fewer or smaller files.",
		SigninExpired: "This sign-in has expired", SigninExpiredText: "It took too long, was begun in another browser, or is finished already. Please sign in again.",
		FailedText: "The page could not be shown. Please try again later.", SelectRow: "Select row #", Chart: "Chart", Table: "Table", Home: "Home page", Offline: "The page cannot reach its server. What you entered is kept: please try again.",
		rules: map[string]string{
			"required": "This field is required.", "type": "This is no #.", "min": "The smallest value is #.", "max": "The largest value is #.",
			"minLength": "At least # characters.", "maxLength": "At most # characters.", "pattern": "This does not have the expected form.",
			"email": "This is no e-mail address.", "tel": "This is no phone number.", "date": "This is no date.", "enum": "Choose one of the values.",
			"number": "number", "integer": "whole number", "string": "text", "size": "The file is too large: at most #.",
		},
	},
	"fr": {
		Skip: "Aller au contenu", MainMenu: "Menu principal", Breadcrumbs: "Fil d’Ariane", Pages: "Pages", Close: "Fermer", Send: "Envoyer", Submit: "Valider",
		Signin: "Se connecter", Signup: "S’inscrire", Loading: "Chargement…", Select: "Sélectionner", NoRows: "Aucune entrée",
		FormFaults: "Veuillez vérifier les champs ci-dessous.", Menu: "Menu", Yes: "Oui", No: "Non", Sure: "Êtes-vous sûr ?",
		LeftOut: "et # de plus", BlockError: "Cette partie de la page ne peut pas être affichée.", NotFound: "Page introuvable",
		NotFoundText: "Il n’y a pas de page à cette adresse. Elle a peut-être été déplacée, ou l’adresse contient une faute de frappe.", Forbidden: "Accès refusé",
		ForbiddenText: "Votre compte n’a pas accès à cette page. Demandez à son propriétaire de la partager avec vous.", SigninText: "Connectez-vous pour voir cette page.",
		Busy: "Veuillez réessayer dans un instant", BusyText: "Le service est surchargé pour le moment.", Failed: "Une erreur est survenue",
		TooLarge: "C’est trop volumineux", TooLargeText: "Votre envoi dépasse ce que la page accepte. Revenez en arrière et choisissez des fichiers moins nombreux ou plus petits.",
		SigninExpired: "Cette connexion a expiré", SigninExpiredText: "Elle a pris trop de temps, a commencé dans un autre navigateur ou est déjà terminée. Veuillez vous reconnecter.",
		FailedText: "La page n’a pas pu être affichée. Veuillez réessayer plus tard.", SelectRow: "Sélectionner la ligne #", Chart: "Graphique", Table: "Tableau", Home: "Page d’accueil", Offline: "La page ne peut pas joindre son serveur. Votre saisie est conservée : veuillez réessayer.",
		rules: map[string]string{
			"required": "Ce champ est obligatoire.", "type": "Ceci n’est pas un #.", "min": "La valeur minimale est #.", "max": "La valeur maximale est #.",
			"minLength": "Au moins # caractères.", "maxLength": "Au plus # caractères.", "pattern": "Le format n’est pas celui attendu.",
			"email": "Ceci n’est pas une adresse e-mail.", "tel": "Ceci n’est pas un numéro de téléphone.", "date": "Ceci n’est pas une date.",
			"enum": "Choisissez une des valeurs.", "number": "nombre", "integer": "nombre entier", "string": "texte", "size": "Le fichier est trop grand : # au plus.",
		},
	},
}

// textsOf returns the texts in a language, English when there are none.
func textsOf(l page.Language) *texts {
	base, _, _ := strings.Cut(l.Tag, "-")
	if t, ok := textsByLanguage[base]; ok {
		return t
	}
	return textsByLanguage["en"]
}

// with puts a value into a text.
func with(text, v string) string { return strings.Replace(text, "#", v, 1) }

// faultText says what is wrong with a field.
func (t *texts) faultText(f page.Fault) string {
	if f.Message != "" {
		return f.Message
	}
	limit := f.Limit
	if f.Rule == "type" {
		limit = t.rules[f.Limit]
	}
	return with(t.rules[f.Rule], limit)
}
