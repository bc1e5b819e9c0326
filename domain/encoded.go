package domain

// IsEncoded reports whether JSON is what encoding/json would make of it again. It says no where that is not sure: then
// encoding/json, which takes several times as long, has to encode it.
func IsEncoded(body []byte) bool { return skipEncoded(body, 0, 0) == len(body) }

// skipEncoded returns the index after the JSON value that begins at i, when encoding/json would write it as it is: without
// blanks, and with nothing to escape. It returns -1 when that is not sure, as for a text with escapes, and for what is no JSON.
func skipEncoded(b []byte, i, depth int) int {
	if i >= len(b) || depth > maxEncodedDepth {
		return -1
	}
	switch b[i] {
	case '"':
		return skipPlainText(b, i)
	case '{':
		return skipMembers(b, i+1, depth)
	case '[':
		return skipElements(b, i+1, depth)
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	}
	return skipNumber(b, i)
}

// maxEncodedDepth is how deep values may be nested; encoding/json decides about deeper ones.
const maxEncodedDepth = 100

// skipMembers skips the rest of an object.
func skipMembers(b []byte, i, depth int) int {
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		if i = skipPlainText(b, i); i < 0 || i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = skipEncoded(b, i+1, depth+1); i < 0 || i >= len(b) {
			return -1
		}
		switch b[i] {
		case '}':
			return i + 1
		case ',':
			i++
		default:
			return -1
		}
	}
}

// skipElements skips the rest of a list.
func skipElements(b []byte, i, depth int) int {
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = skipEncoded(b, i, depth+1); i < 0 || i >= len(b) {
			return -1
		}
		switch b[i] {
		case ']':
			return i + 1
		case ',':
			i++
		default:
			return -1
		}
	}
}

// skipPlainText skips a text of which each byte stands for itself.
func skipPlainText(b []byte, i int) int {
	for i++; i < len(b); i++ {
		if class := textBytes[b[i]]; class != 0 {
			if class == endOfText {
				return i + 1
			}
			return -1
		}
	}
	return -1
}

// Classes of bytes in a text; 0: it stands for itself.
const (
	endOfText = 1
	notPlain  = 2
)

// textBytes are the classes of all bytes.
var textBytes = func() (classes [256]byte) {
	for c := range ' ' {
		classes[c] = notPlain
	}
	for _, c := range []byte{'\\', '<', '>', '&', 0xE2} { // U+2028 and U+2029 begin with the last one
		classes[c] = notPlain
	}
	classes['"'] = endOfText
	return classes
}()

func skipWord(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

// skipNumber skips a number.
func skipNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	begin := i
	if i = skipDigits(b, i); i == begin || b[begin] == '0' && i > begin+1 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		begin = i + 1
		if i = skipDigits(b, begin); i == begin {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		begin = i
		if i = skipDigits(b, begin); i == begin {
			return -1
		}
	}
	return i
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}
