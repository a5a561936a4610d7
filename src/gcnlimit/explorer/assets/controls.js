// Sliders, the state of the page, its colours and its downloads: what needs no server.
(function () {
  const shownBy = {c: "residual", depth: "residual", t: "diffusion", theta: "pagerank", coefficients: "polynomial"};
  const SETTLED = 300; // milliseconds without a movement before Dash is told of a slider
  const settling = {};
  let known = {};

  // position 0 ... 1000 of a slider, and the value there
  const scale = ([low, high, log], v) => (log ? Math.log(v) : v);
  function toPosition(limit, v) {
    const low = scale(limit, limit[0]), high = scale(limit, limit[1]);
    return Math.round(1000 * (scale(limit, v) - low) / (high - low));
  }
  function toValue(limit, position) {
    const [first, last, log, whole] = limit, low = scale(limit, first), high = scale(limit, last);
    const at = low + (position / 1000) * (high - low), value = log ? Math.exp(at) : at;
    if (whole) return Math.round(value);
    return Number(log ? value.toPrecision(3) : value.toFixed(3));
  }

  // a slider that moves asks for pictures at once; Dash, which is slower, is told of its value when it rests
  document.addEventListener("input", (event) => {
    const id = event.target.id || "", name = id.replace(/-slider$/, ""), limit = known[name];
    if (name === id || !limit) return;
    event.stopPropagation();
    const value = toValue(limit, Number(event.target.value));
    document.getElementById(name).value = value;
    event.target.setAttribute("aria-valuetext", String(value));
    window.dash_clientside.explorer.move(name, value);
    clearTimeout(settling[name]);
    settling[name] = setTimeout(() => window.dash_clientside.set_props(name, {value}), SETTLED);
  }, true);

  function showControls(state) {
    for (const name of Object.keys(shownBy)) hide(name, shownBy[name] !== state.family);
    hide("reg", state.reg === "inf");
    hide("estimated", !state.estimated);
    hide("normalization", !(state.degrees_variance > 0));
    for (const name of ["to_lam", "to_mu", "elsewhere-answer"]) hide(name, !state.elsewhere);
    document.getElementById("elsewhere-section").hidden = !state.elsewhere;
    document.querySelectorAll("input[type=range]").forEach((slider) => {
      const name = slider.id.replace("-slider", ""), label = document.querySelector('label[for="' + name + '"]');
      if (label) slider.setAttribute("aria-label", label.textContent + ", slider");
      slider.setAttribute("aria-valuetext", String(state[name]));
      const position = typeof state[name] === "number" ? toPosition(known[name], state[name]) : NaN;
      if (Number.isFinite(position)) window.dash_clientside.set_props(slider.id, {value: position});
    });
  }

  // the example that is shown
  function markPreset(state, presets) {
    document.querySelectorAll(".preset").forEach((button) => {
      const preset = presets[button.textContent];
      const current = Object.keys(preset).every((name) => same(preset[name], state[name]));
      if (current) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    });
  }

  const same = (text, value) => text === String(value) || (text !== "" && Number(text) === Number(value));

  function hide(name, hidden) {
    const control = document.getElementById(name + "-control");
    if (control) control.hidden = hidden;
  }

  // files that are chosen once more, perhaps after a field beside them has changed, are read once more
  for (const chosen of ["change", "drop"]) document.addEventListener(chosen, (event) => {
    if (event.target.closest("#upload")) window.dash_clientside.set_props("upload", {contents: null});
  }, true);

  // a picture into a file
  document.addEventListener("click", (event) => {
    const id = event.target.id || "", cut = id.lastIndexOf("-"), name = id.slice(0, cut), format = id.slice(cut + 1);
    if (!event.target.matches("button.save")) return;
    const graph = document.querySelector("#" + name + "-shown .js-plotly-plot");
    if (format === "csv") saveNumbers(name, graph);
    else if (graph) window.Plotly.downloadImage(graph, {format, filename: "gcnlimit-" + name, width: 900, height: 600});
  });

  // the numbers of a picture as they are drawn: a row for each point of a curve, of a map, or of the table
  function saveNumbers(name, graph) {
    const cells = graph ? rowsOf(graph) : [...document.querySelectorAll("#" + name + "-shown tr")].map((row) =>
      [...row.cells].map((cell) => cell.textContent));
    // words that a spreadsheet would run as a formula have an apostrophe before them
    const runs = (text) => /^[\s\p{C}]*[=+@-]/u.test(text.normalize("NFKC")) && isNaN(text);
    const shown = (text) => (runs(text) ? "'" : "") + text.replaceAll('"', '""');
    const quoted = (cell) => '"' + shown(String(cell ?? "")) + '"';
    const text = cells.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
    link.download = "gcnlimit-" + name + ".csv";
    link.click();
    URL.revokeObjectURL(link.href);
  }

  function rowsOf(graph) {
    const {xaxis, yaxis} = graph.layout, map = graph.data.find((trace) => trace.type === "heatmap");
    const axes = [xaxis.title.text, yaxis.title.text];
    if (map) return [[...axes, "value"], ...map.y.flatMap((y, i) => map.x.map((x, j) => [x, y, map.z[i][j]]))];
    const errors = (trace) => (trace.error_y ? trace.error_y.array : []);
    const points = (trace) => Array.from(trace.x, (x, k) => [trace.name, x, trace.y[k], errors(trace)[k]]);
    return [["curve", ...axes, "standard_error"], ...graph.data.flatMap(points)];
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.explorer = Object.assign(window.dash_clientside.explorer || {}, {
    // every control into one state, and into the address of the page
    collect: function (...values) {
      const presets = values.pop();
      // on a narrow screen the controls stand above the answers: closed, until one is wanted
      const first = !Object.keys(known).length;
      if (first && window.innerWidth <= 800) document.querySelectorAll(".group").forEach((group) => { group.open = false; });
      known = values.pop();
      const names = window.dash_clientside.callback_context.inputs_list.map((input) => input.id), state = {};
      names.forEach((name, k) => { state[name] = Array.isArray(values[k]) ? values[k].length > 0 : values[k]; });
      if (!state.family) return Array(2).fill(window.dash_clientside.no_update); // nothing is set yet
      if (state.infinite) state.reg = "inf";
      delete state.infinite;
      showControls(state);
      markPreset(state, presets);
      const query = Object.keys(state).map((name) => name + "=" + encodeURIComponent(state[name])).join("&");
      window.history.replaceState(null, "", window.location.pathname + "?" + query);
      return [state, window.location.href];
    },
    // on a narrow screen what is said of an upload is below the controls, where nobody would see it
    told: function () {
      const place = document.getElementById("message");
      setTimeout(() => place.textContent && place.getBoundingClientRect().top > window.innerHeight && place.scrollIntoView(), 100);
      return window.dash_clientside.no_update;
    },
  });
})();
