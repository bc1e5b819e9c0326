import type { Messages } from '../en/index.ts';

const graph: Messages['graph'] = {
  named: (kind, name) => `${kind} : ${name}`,
  zoomIn: 'Agrandir',
  zoomOut: 'Réduire',
  fit: 'Tout voir',
  keys: 'Les flèches vont d’une case à l’autre ; avec Maj, elles déplacent l’image. Plus et moins changent la taille, 0 montre tout.',
  tooLarge: 'L’image est trop longue à dessiner.',
};
export default graph;
