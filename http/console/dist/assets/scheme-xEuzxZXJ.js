// Runs before the first paint: the look that this browser last used.
(function () {
  try {
    var look = JSON.parse(localStorage.getItem('svc-look') || '{}');
    var root = document.documentElement;
    if (look.scheme === 'light' || look.scheme === 'dark') root.dataset.scheme = look.scheme;
    if (look.density === 'compact') root.dataset.density = 'compact';
    if (look.language) root.lang = look.language;
  } catch {
    // No storage: the look of the system.
  }
})();
