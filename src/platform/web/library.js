// The browser's side of src/platform, linked into the app module. Input listeners sit on the canvas (GLFW's
// own, which sit on the window and swallow Tab and Backspace of the whole page, are taken off), and text
// is typed into DOM fields laid over the canvas: input methods, the clipboard, a phone's keyboard and
// screen readers then work as everywhere else.

addToLibrary({
  $platform: {
    fields: null, // Map of id -> {element, numeric}
    family: '"JetBrains Mono", ui-monospace, monospace',

    withText(texts, call) {
      const addresses = texts.map((text) => stringToNewUTF8(text));
      const result = call(...addresses);
      addresses.forEach((address) => _free(address));
      return result;
    },

    // A page that scrolls, or one in a frame, keeps its wheel until the canvas was clicked.
    isGuest() {
      const page = document.scrollingElement;
      return window.parent !== window || (page !== null && page.scrollHeight > innerHeight + 1);
    },

    position(event) {
      const box = Module['canvas'].getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    },

    pointer(kind, event) {
      const [x, y] = platform.position(event);
      _app_pointer(kind, x, y, event.button < 0 ? 0 : event.button, event.pointerType === "touch" ? 1 : 0);
    },

    key(event, down) {
      if (event.isComposing) return;
      const used = platform.withText([event.key], (key) =>
        _app_key(key, down ? 1 : 0, event.ctrlKey || event.metaKey ? 1 : 0));
      if (used) event.preventDefault();
    },

    attach() {
      const canvas = Module['canvas'];
      canvas.addEventListener("pointermove", (event) => platform.pointer(0, event));
      canvas.addEventListener("pointerdown", (event) => {
        canvas.focus({ preventScroll: true });
        try {
          canvas.setPointerCapture(event.pointerId);
        } catch {
          // a pointer that is gone, or one made by a script
        }
        platform.pointer(1, event);
        event.preventDefault();
      });
      canvas.addEventListener("pointerup", (event) => platform.pointer(2, event));
      canvas.addEventListener("pointercancel", (event) => platform.pointer(4, event));
      canvas.addEventListener("pointerleave", (event) => platform.pointer(3, event));
      canvas.addEventListener("contextmenu", (event) => event.preventDefault());
      canvas.addEventListener("wheel", (event) => {
        const ctrl = event.ctrlKey || event.metaKey;
        if (platform.isGuest() && document.activeElement !== canvas && !ctrl) return;
        const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
        const [x, y] = platform.position(event);
        _app_wheel(x, y, event.deltaX * unit, event.deltaY * unit, ctrl ? 1 : 0);
        event.preventDefault();
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => platform.key(event, true));
      canvas.addEventListener("keyup", (event) => platform.key(event, false));
      canvas.addEventListener("focus", () => _app_focus(1));
      canvas.addEventListener("blur", () => _app_focus(0));
      const calm = matchMedia("(prefers-reduced-motion: reduce)");
      const tell = () => _app_reduced_motion(calm.matches ? 1 : 0);
      calm.addEventListener("change", tell);
      tell();
    },

    makeField(field) {
      const element = document.createElement(field.multiline ? "textarea" : "input");
      if (!field.multiline) {
        element.type = "text";
        element.inputMode = field.numeric ? "decimal" : "text";
      }
      element.spellcheck = false;
      element.autocomplete = "off";
      const coarse = matchMedia("(pointer: coarse)").matches; // phones zoom in on smaller type
      Object.assign(element.style, {
        position: "absolute", boxSizing: "border-box", margin: "0", border: "0", borderRadius: "4px",
        background: "transparent", color: "#e6e9ee", caretColor: "#5cc8ff", resize: "none",
        fontFamily: platform.family, fontSize: coarse ? "16px" : "12.88px", lineHeight: "19px",
        padding: field.multiline ? "7px 8px" : "0 8px", textAlign: field.multiline ? "left" : "center",
        outlineOffset: "-1px", overflowWrap: "anywhere",
      });
      element.addEventListener("input", () => {
        platform.withText([field.id, element.value], (id, value) => _app_text(id, value));
      });
      element.addEventListener("focus", () => (element.style.outline = "1px solid #5cc8ff"));
      element.addEventListener("blur", () => {
        element.style.outline = "";
        _app_wake();
      });
      element.addEventListener("keydown", (event) => {
        if (event.key === "Escape" || (event.key === "Enter" && !field.multiline)) {
          Module['canvas'].focus({ preventScroll: true });
          event.preventDefault();
        } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          platform.key(event, true);
        }
      });
      Module['canvas'].parentElement.append(element);
      return { element, numeric: field.numeric };
    },

    place(entry, field) {
      const { element } = entry;
      const canvas = Module['canvas'];
      const set = (name, value) => {
        if (element.style[name] !== value) element.style[name] = value;
      };
      const { box, clip } = field;
      set("left", `${canvas.offsetLeft + box[0]}px`);
      set("top", `${canvas.offsetTop + box[1]}px`);
      set("width", `${box[2]}px`);
      set("height", `${box[3]}px`);
      const cut = [clip[1] - box[1], box[0] + box[2] - clip[0] - clip[2],
        box[1] + box[3] - clip[1] - clip[3], clip[0] - box[0]].map((px) => Math.max(0, px));
      set("clipPath", cut.some((px) => px > 0) ? `inset(${cut.map((px) => `${px}px`).join(" ")})` : "");
      // Hidden by opacity where covered, so that it keeps the focus and its place for readers.
      set("opacity", field.covered ? "0" : "1");
      set("pointerEvents", field.covered ? "none" : "auto");
      if (element.getAttribute("aria-label") !== field.label) element.setAttribute("aria-label", field.label);
      if (element.getAttribute("aria-invalid") !== String(field.bad)) {
        element.setAttribute("aria-invalid", String(field.bad));
      }
      const typing = document.activeElement === element && (entry.numeric || entry.composing);
      if (!typing && element.value !== field.value) element.value = field.value;
    },
  },
  $platform__deps: ["$stringToNewUTF8", "free"],
  $platform__postset: "platform.fields = new Map();", // the compiler copies plain objects only

  platform_attach__deps: ["$platform", "$GLFW"],
  platform_attach: () => {
    const canvas = Module['canvas'];
    const windowEvents = { keydown: GLFW.onKeydown, keypress: GLFW.onKeyPress, keyup: GLFW.onKeyup,
      blur: GLFW.onBlur, gamepadconnected: GLFW.onGamepadConnected,
      gamepaddisconnected: GLFW.onGamepadDisconnected };
    const canvasEvents = { touchmove: GLFW.onMousemove, touchstart: GLFW.onMouseButtonDown,
      touchcancel: GLFW.onMouseButtonUp, touchend: GLFW.onMouseButtonUp, mousemove: GLFW.onMousemove,
      mousedown: GLFW.onMouseButtonDown, mouseup: GLFW.onMouseButtonUp, wheel: GLFW.onMouseWheel,
      mousewheel: GLFW.onMouseWheel, mouseenter: GLFW.onMouseenter, mouseleave: GLFW.onMouseleave,
      drop: GLFW.onDrop, dragover: GLFW.onDragover };
    for (const [name, listener] of Object.entries(windowEvents)) removeEventListener(name, listener, true);
    for (const [name, listener] of Object.entries(canvasEvents)) canvas.removeEventListener(name, listener, true);
    GLFW.devicePixelRatioMQL?.removeEventListener("change", GLFW.onDevicePixelRatioChange);
    // The canvas is sized by the page: CSS lays it out, the shell sets its device pixels.
    canvas.style.removeProperty("width");
    canvas.style.removeProperty("height");
    platform.attach();
  },

  platform_request_frame: () => Module["requestFrame"]?.(),

  platform_send: (address, length) => Module["onCommand"]?.(HEAPU8.slice(address, address + length)),

  platform_cursor: (address) => {
    const cursor = UTF8ToString(address);
    if (Module['canvas'].style.cursor !== cursor) Module['canvas'].style.cursor = cursor;
  },
  platform_cursor__deps: ["$UTF8ToString"],

  // Fonts travel in the module; the DOM fields use the same one, under a name of its own.
  platform_font: (address, length) => {
    const face = new FontFace("Novascope Mono", HEAPU8.slice(address, address + length));
    document.fonts.add(face);
    face.load();
    platform.family = `"Novascope Mono", ${platform.family}`;
  },
  platform_font__deps: ["$platform"],

  platform_fields: (address) => {
    const wanted = JSON.parse(UTF8ToString(address));
    const ids = new Set(wanted.map((field) => field.id));
    for (const [id, { element }] of platform.fields) {
      if (ids.has(id)) continue;
      const focused = document.activeElement === element;
      element.remove();
      platform.fields.delete(id);
      if (focused) Module['canvas'].focus({ preventScroll: true });
    }
    for (const field of wanted) {
      if (!platform.fields.has(field.id)) platform.fields.set(field.id, platform.makeField(field));
      platform.place(platform.fields.get(field.id), field);
    }
  },
  platform_fields__deps: ["$platform", "$UTF8ToString"],
});
