// Canvases have at least two dots a pixel, so that they are sharp when the page is printed from an ordinary screen.
if (devicePixelRatio < 2) Object.defineProperty(window, "devicePixelRatio", { get: () => 2 });
