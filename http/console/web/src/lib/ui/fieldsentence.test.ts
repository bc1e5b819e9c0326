import { beforeEach, expect, test } from 'vitest';
import { useLanguage } from '../i18n.svelte.ts';
import { fieldSentence } from './fieldsentence.ts';

const said = (message: string): string => fieldSentence({ field: 'name', message });
beforeEach(() => useLanguage('fr'));

test('what the server says about a field is said in the language of the person', async () => {
  expect(said('is required')).toBe('Ce champ est obligatoire.');
  expect(said('must be 1 to 60 characters without control characters')).toBe('De 1 à 60 caractères.');
  expect(said('must be from 1 to 12')).toBe('De 1 à 12.');
  expect(said('this slug is used already')).toBe('Ce nom est déjà utilisé.');
  expect(said('import is reserved')).toBe('Ce mot est réservé à la plateforme.');
  expect(said('must be a banana')).toBe('Cette valeur n’est pas acceptée.');
});

test('words that no sentence of ours says are the server’s own in English', async () => {
  await useLanguage('en');
  expect(said('must be a banana')).toBe('Must be a banana.');
  expect(said('is required')).toBe('This is required.');
});
