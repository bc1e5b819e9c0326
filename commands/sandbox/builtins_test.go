package sandbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/sandbox"
	"svc/domain/value"
)

// What the interpreter lacks of what authors expect. One call runs many lines: each is an
// expression, and what it comes to as JSON; an exception is its text.
func TestBuiltins(t *testing.T) {
	tests := map[string][][2]string{
		"URL": {
			{"new URL('https://me:pw@Ex\u00e4mple.org:443/a/./b/../c d?q=1&r=%20#h').href", `"https://me:pw@xn--exmple-cua.org/a/c%20d?q=1&r=%20#h"`},
			{"new URL('../x?y#z', 'http://h:81/a/b/c').href", `"http://h:81/a/x?y#z"`},
			{"new URL('//other/p', 'https://h/').href", `"https://other/p"`},
			{"new URL('?b', 'https://h/p?a#f').href", `"https://h/p?b"`},
			{"new URL('http://h').pathname", `"/"`},
			{"new URL('http:\\\\\\\\h\\\\p').href", `"http://h/p"`},
			{"new URL('mailto:a@b.c').pathname", `"a@b.c"`},
			{"new URL('data:text/plain,hi').origin", `"null"`},
			{"new URL('http://[::1]:8080/').host", `"[::1]:8080"`},
			{"new URL('nope').href", `"TypeError: Invalid URL"`},
			{"new URL('http://a b/').href", `"TypeError: Invalid URL"`},
			{"new URL('http://h:99999/').href", `"TypeError: Invalid URL"`},
			{"URL.canParse('/a', 'http://h')", `true`},
			{"(u => { u.searchParams.append('b', 'x y'); u.hash = 'end'; u.pathname = '/p/\u00e9'; u.port = '8080'; return u.href })(new URL('http://h/?a=1'))", `"http://h:8080/p/%C3%A9?a=1&b=x+y#end"`},
			{"(u => { u.search = '?z=1'; return u.searchParams.get('z') })(new URL('http://h/?a=1'))", `"1"`},
			{"(u => { const p = u.searchParams; u.search = 'z=1'; p.delete('z'); return u.href })(new URL('http://h/?a=1'))", `"http://h/"`},
			{"JSON.stringify({u: new URL('http://h')})", `"{\"u\":\"http://h/\"}"`},
			{"new URL('http://h') instanceof URL", `true`},
		},
		"URLSearchParams": {
			{"new URLSearchParams('?a=1&b=2&a=%C3%A9+x').getAll('a')", `["1","\u00e9 x"]`},
			{"[...new URLSearchParams({a: 1, b: 'x&y'})]", `[["a","1"],["b","x&y"]]`},
			{"new URLSearchParams([['a', '1'], ['b', '\u00e9 ~']]).toString()", `"a=1&b=%C3%A9+%7E"`},
			{"Object.fromEntries(new URLSearchParams('a=1&b'))", `{"a":"1","b":""}`},
			{"(p => { p.set('a', 3); p.sort(); return [String(p), p.has('b'), p.has('b', '1'), p.get('c'), p.size] })(new URLSearchParams('b=2&a=1&a=2'))", `["a=3&b=2",true,false,null,2]`},
		},
		"text": {
			{"[...new TextEncoder().encode('\u00e9😀')]", `[195,169,240,159,152,128]`},
			{"new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 104, 105, 0xe2, 0x82, 33]))", `"hi\ufffd!"`},
			{"new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([255]))", `"TypeError: the bytes are not valid utf-8"`},
			{"new TextDecoder('latin1').decode(new Uint8Array([233]))", `"\u00e9"`},
			{"new TextDecoder('koi8-r')", `"RangeError: the encoding koi8-r is not known here: there are utf-8, utf-16le and latin1"`},
			{"btoa('h\u00e9')", `"aOk="`},
			{"atob(' aOk= ')", `"h\u00e9"`},
			{"atob('aOk')", `"h\u00e9"`},
			{"btoa('\u20ac')", `"InvalidCharacterError: btoa: the text has characters above U+00FF"`},
			{"atob('*')", `"InvalidCharacterError: atob: the text is not base64"`},
		},
		"Buffer": {
			{"Buffer.from('h\u00e9').toString('base64')", `"aMOp"`},
			{"Buffer.from('aMOp', 'base64').toString()", `"h\u00e9"`},
			{"Buffer.from('-_-_', 'base64url').toString('hex')", `"fbffbf"`},
			{"Buffer.from('fbffxx', 'hex').toString('base64url')", `"-_8"`},
			{"Buffer.concat([Buffer.from('a'), Buffer.from([98]), new Uint8Array([99])]).toString()", `"abc"`},
			{"Buffer.byteLength('\u00e9\u20ac')", `5`},
			{"Buffer.from('hello').slice(1, 3).toString()", `"el"`},
			{"Buffer.from('hello').toString('utf8', 1, 3)", `"el"`},
			{"JSON.stringify(Buffer.from('a'))", `"{\"type\":\"Buffer\",\"data\":[97]}"`},
			{"Buffer.from(JSON.parse(JSON.stringify(Buffer.from('a')))).equals(Buffer.from('a'))", `true`},
			{"Buffer.isBuffer(Buffer.alloc(2)) && Buffer.alloc(2) instanceof Uint8Array", `true`},
			{"Buffer.alloc(3, 'ab').toString()", `"aba"`},
			{"Buffer.from('\u00e9', 'latin1')[0]", `233`},
			{"Buffer.from('a').toString('nope')", `"TypeError: Unknown encoding: nope"`},
			{"Buffer.from(5)", `"TypeError: Buffer.from takes a string, an array, a Buffer or an ArrayBuffer"`},
		},
		"structuredClone": {
			{"(o => { const c = structuredClone(o); c.l[0].k = 2; return [o.l[0].k, c.d.getTime(), c.m.get('a'), [...c.s], c.self === c] })((o => (o.self = o, o))({l: [{k: 1}], d: new Date(5), m: new Map([['a', 1]]), s: new Set([3])}))", `[1,5,1,[3],true]`},
			{"structuredClone(new TypeError('x')) instanceof TypeError", `true`},
			{"structuredClone({f() {}})", `"DataCloneError: f() {} could not be cloned"`},
		},
		"numbers": {
			{"(1234567.891).toLocaleString()", `"1,234,567.891"`},
			{"['fr', 'de-DE', 'es', 'it', 'nl', 'pt-BR', 'xx'].map(l => (1234567.5).toLocaleString(l))", `["1\u202f234\u202f567,5","1.234.567,5","1.234.567,5","1.234.567,5","1.234.567,5","1.234.567,5","1,234,567.5"]`},
			{"(1234).toLocaleString('es')", `"1234"`},
			{"['en-US', 'fr-FR', 'de-DE', 'es-ES', 'it-IT', 'nl-NL', 'pt-BR'].map(l => (-1234.5).toLocaleString(l, {style: 'currency', currency: 'EUR', useGrouping: true}))", `["-\u20ac1,234.50","-1\u202f234,50\u00a0\u20ac","-1.234,50\u00a0\u20ac","-1.234,50\u00a0\u20ac","-1.234,50\u00a0\u20ac","\u20ac\u00a0-1.234,50","-\u20ac\u00a01.234,50"]`},
			{"['en', 'en-GB', 'fr', 'de', 'pt'].map(l => new Intl.NumberFormat(l, {style: 'currency', currency: 'USD'}).format(5))", `["$5.00","US$5.00","5,00\u00a0$US","5,00\u00a0$","US$\u00a05,00"]`},
			{"new Intl.NumberFormat('en', {style: 'currency', currency: 'JPY'}).format(1234.5)", `"\u00a51,235"`},
			{"new Intl.NumberFormat('en', {style: 'currency', currency: 'CHF'}).format(5)", `"CHF\u00a05.00"`},
			{"['en', 'fr', 'de'].map(l => (0.256).toLocaleString(l, {style: 'percent', maximumFractionDigits: 1}))", `["25.6%","25,6\u202f%","25,6\u00a0%"]`},
			{"[1.005, 2.5, 0.0005, 999.9996].map(n => n.toLocaleString('en'))", `["1.005","2.5","0.001","1,000"]`},
			{"(1.005).toLocaleString('en', {maximumFractionDigits: 2})", `"1.01"`},
			{"[1, 1.5, 12.345].map(n => n.toLocaleString('en', {minimumFractionDigits: 2, maximumFractionDigits: 2}))", `["1.00","1.50","12.35"]`},
			{"[123456, 0.00123456, 99.99, 0].map(n => n.toLocaleString('en', {maximumSignificantDigits: 3}))", `["123,000","0.00123","100","0"]`},
			{"(5).toLocaleString('en', {minimumSignificantDigits: 3})", `"5.00"`},
			{"(5).toLocaleString('en', {minimumIntegerDigits: 2, signDisplay: 'always'})", `"+05"`},
			{"[NaN, -Infinity, -0, 1e21].map(n => n.toLocaleString('en'))", `["NaN","-\u221e","-0","1,000,000,000,000,000,000,000"]`},
			{"(12345678901234567890n).toLocaleString('de')", `"12.345.678.901.234.567.890"`},
			{"new Intl.NumberFormat('de').formatToParts(-1234.5).map(p => p.type + '=' + p.value)", `["minusSign=-","integer=1","group=.","integer=234","decimal=,","fraction=5"]`},
			{"[1, 2].map(Intl.NumberFormat('fr', {minimumFractionDigits: 1}).format)", `["1,0","2,0"]`},
			{"new Intl.NumberFormat('fr', {style: 'currency', currency: 'EUR'}).resolvedOptions().currency", `"EUR"`},
			{"new Intl.NumberFormat('en', {style: 'currency'})", `"TypeError: currency: expected the code of a currency, such as EUR"`},
			{"new Intl.NumberFormat('en', {notation: 'compact'})", `"RangeError: notation: \"compact\" is not known here; there are standard"`},
			{"(5).toLocaleString('e')", `"RangeError: Incorrect locale information provided: e"`},
			{"[1234.5, 2].toLocaleString()", `"1,234.5,2"`},
		},
		"dates": {
			{"d.toLocaleString()", `"3/5/2023, 5:07:23 PM"`},
			{"['en-GB', 'fr', 'de', 'es', 'it', 'nl', 'pt'].map(l => d.toLocaleString(l))", `["05/03/2023, 17:07:23","05/03/2023 17:07:23","5.3.2023, 17:07:23","5/3/2023, 17:07:23","5/3/2023, 17:07:23","5-3-2023, 17:07:23","05/03/2023, 17:07:23"]`},
			{"['en', 'fr', 'de'].map(l => d.toLocaleDateString(l))", `["3/5/2023","05/03/2023","5.3.2023"]`},
			{"['en', 'fr', 'es'].map(l => d.toLocaleTimeString(l, {hour: '2-digit', minute: '2-digit'}))", `["05:07 PM","17:07","17:07"]`},
			{"['en', 'en-GB', 'fr', 'de', 'es', 'it', 'nl', 'pt'].map(l => d.toLocaleDateString(l, {weekday: 'long', year: 'numeric', month: 'long', day: 'numeric'}))", `["Sunday, March 5, 2023","Sunday 5 March 2023","dimanche 5 mars 2023","Sonntag, 5. M\u00e4rz 2023","domingo, 5 de marzo de 2023","domenica 5 marzo 2023","zondag 5 maart 2023","domingo, 5 de mar\u00e7o de 2023"]`},
			{"['en', 'fr', 'pt'].map(l => d.toLocaleDateString(l, {month: 'short', day: '2-digit'}))", `["Mar 05","05 mars","05 de mar."]`},
			{"['en', 'fr', 'es'].map(l => d.toLocaleDateString(l, {month: 'long', year: 'numeric'}))", `["March 2023","mars 2023","marzo de 2023"]`},
			{"d.toLocaleDateString('fr-FR', {day: '2-digit', month: '2-digit', year: '2-digit'})", `"05/03/23"`},
			{"d.toLocaleDateString('en-US', {day: '2-digit', month: '2-digit', year: 'numeric'})", `"03/05/2023"`},
			{"d.toLocaleDateString('en', {weekday: 'short'})", `"Sun"`},
			{"['en', 'fr', 'de'].map(l => new Intl.DateTimeFormat(l, {dateStyle: 'full', timeStyle: 'short', timeZone: 'Europe/Paris'}).format(d))", `["Sunday, March 5, 2023 at 6:07 PM","dimanche 5 mars 2023 \u00e0 18:07","Sonntag, 5. M\u00e4rz 2023 um 18:07"]`},
			{"['en', 'fr', 'de', 'nl'].map(l => new Intl.DateTimeFormat(l, {dateStyle: 'short'}).format(d))", `["3/5/23","05/03/2023","05.03.23","05-03-2023"]`},
			{"['en', 'de'].map(l => new Intl.DateTimeFormat(l, {dateStyle: 'medium'}).format(d))", `["Mar 5, 2023","05.03.2023"]`},
			{"d.toLocaleString('en-US', {timeZone: 'America/New_York', timeZoneName: 'short'})", `"3/5/2023, 12:07:23 PM GMT-5"`},
			{"d.toLocaleTimeString('en-US', {hour12: false})", `"17:07:23"`},
			{"d.toLocaleTimeString('fr', {hour: 'numeric'})", `"17 h"`},
			{"new Intl.DateTimeFormat().resolvedOptions().timeZone", `"UTC"`},
			{"new Intl.DateTimeFormat('en').formatToParts(d).map(p => p.type)", `["month","literal","day","literal","year"]`},
			{"new Intl.DateTimeFormat('en', {timeZone: 'Mars/Base'})", `"RangeError: Invalid time zone specified: Mars/Base"`},
			{"new Date(NaN).toLocaleString()", `"Invalid Date"`},
			{"new Intl.DateTimeFormat('en').format()", `"3/1/2025"`},
			{"Intl.DateTimeFormat.supportedLocalesOf(['fr-CA', 'ja'])", `["fr-CA"]`},
		},
		"globals": {
			{"Object.keys(globalThis).filter(k => ['URL', 'Buffer', 'Intl'].includes(k))", `[]`},
			{"(Intl = 5, Intl)", `5`},
			{"[typeof URL, typeof Buffer, typeof structuredClone, typeof TextDecoder]", `["function","function","function","function"]`},
		},
	}
	s := open(t, sandbox.Options{})
	for name, lines := range tests {
		t.Run(name, func(t *testing.T) {
			code := "const d = new Date('2023-03-05T17:07:23.975Z'); const all = [];\n"
			for _, line := range lines {
				code += "try { all.push(JSON.stringify((" + line[0] + "))) } catch (e) { all.push(JSON.stringify(String(e))) }\n"
			}
			result, err := s.Run(t.Context(), job(t, code+"return all", ""))
			require.NoError(t, err)
			got, _ := result.Value.([]any)
			require.Len(t, got, len(lines))
			for i, line := range lines {
				want, err := value.ParseJSON(line[1])
				require.NoError(t, err, line[1])
				v, err := value.ParseJSON(value.Text(got[i]))
				require.NoError(t, err)
				require.Equal(t, value.JSON(want, ""), value.JSON(v, ""), line[0])
			}
		})
	}
}

func TestEachArgumentIsAVariable(t *testing.T) {
	s := open(t, sandbox.Options{})
	j := sandbox.Job{
		Code:      "return [typeof a, a === undefined, b, Object.keys(args), 'a' in args, typeof c]",
		Arguments: value.NewObject("b", nil, "x-y", 1.0), Undefined: []string{"a", "b"}, Clock: time.UnixMilli(0),
	}
	result, err := s.Run(t.Context(), j)
	require.NoError(t, err)
	require.Equal(t, `["undefined",true,null,["b","x-y","a"],true,"undefined"]`, value.JSON(result.Value, ""))
}
