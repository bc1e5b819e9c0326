/** Words of pictures made of boxes and lines. */
export default {
  named: (kind: string, name: string) => `${kind}: ${name}`,
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  fit: 'Fit',
  keys: 'Arrow keys move from box to box, with Shift they move the picture. Plus and minus zoom, 0 shows everything.',
  tooLarge: 'The picture takes too long to draw.',
};
