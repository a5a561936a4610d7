// From a picture as the server sends it, curves or a map without colours, to a Plotly figure in a light or dark theme.
(function () {
  // Okabe and Ito's colours, told apart by most colour-blind readers; lighter on a dark ground
  const themes = {
    light: {curves: ["#0072b2", "#d55e00", "#009e73", "#cc79a7"], linear: "#e69f00", ink: "#1c2126", grid: "#dfe3e6", ground: "#ffffff"},
    dark: {curves: ["#56b4e9", "#f0a35e", "#4fd1a5", "#e6a5c9"], linear: "#f0e442", ink: "#e6e9ec", grid: "#3a4148", ground: "#22272c"},
  };
  // curves of one colour in every picture, the first in that of the text
  const CEILING = "Bayes-optimal", LINEAR = "all linear networks";
  const legend = {
    orientation: "h", x: -0.1, y: 1.02, yanchor: "bottom", font: {size: 11}, entrywidth: 0.48, entrywidthmode: "fraction",
  };
  const cross = {size: 13, symbol: "cross", color: "#ffffff", line: {width: 2, color: "#000000"}};
  const orGap = (values) => (values.length ? values : [null]); // no points: one gap, for the legend

  function traceOf(curve, color, ink) {
    const trace = {type: "scatter", name: curve.name, x: orGap(curve.x), y: orGap(curve.y), mode: "lines"};
    if (curve.style === "dots") {
      Object.assign(trace, {mode: "markers", marker: {size: 9, color, line: {width: 1, color: ink}}, cliponaxis: false});
    } else if (curve.style === "area") {
      Object.assign(trace, {line: {width: 0}, fill: "tozeroy", fillcolor: "rgba(128,128,128,0.25)"});
    } else {
      trace.line = {color, width: 2, dash: ["dash", "dot"].includes(curve.style) ? curve.style : "solid"};
    }
    if (curve.style === "marked") {
      Object.assign(trace, {mode: "lines+markers", marker: {size: 6, color}, cliponaxis: false});
    }
    if (curve.error) trace.error_y = {type: "data", array: curve.error, color};
    return trace;
  }

  function tracesOf(curves, {curves: colours, linear, ink}) {
    const fixed = {[CEILING]: ink, [LINEAR]: linear};
    const names = [...new Set(curves.map((curve) => curve.name))].filter((name) => !(name in fixed));
    const colour = (name) => fixed[name] || colours[names.indexOf(name) % colours.length];
    return curves.map((curve) => traceOf(curve, colour(curve.name), ink));
  }

  function tracesOfMap({x, y, z, point}, {ink}) {
    const colorbar = {title: {text: "gap"}, thickness: 12, tickfont: {color: ink}};
    const hovertemplate = "lam %{x:.2f}, mu %{y:.2f}: gap %{z:.4f}<extra></extra>";
    const here = {type: "scatter", mode: "markers", name: "here", marker: cross, showlegend: false, hoverinfo: "skip"};
    return [
      {type: "heatmap", x, y, z, colorscale: "Cividis", colorbar, hovertemplate},
      {...here, x: [point[0]], y: [point[1]]},
    ];
  }

  const finite = (lists) => lists.flat().filter((value) => value !== null);

  function across(picture) {
    const values = finite(picture.curves.map((curve) => curve.x)).map((value) => (picture.log ? Math.log10(value) : value));
    if (!values.length) return {};
    const low = Math.min(...values), high = Math.max(...values);
    const whole = !picture.log && high - low < 13 && values.every(Number.isInteger);
    return {range: low === high ? [low - 0.5, high + 0.5] : [low, high], ...(whole && {dtick: 1})};
  }

  // ends on round numbers: while these stay, only curves move and the axis is not drawn again
  function upward(picture) {
    const values = finite(picture.curves.map((curve) => curve.y));
    if (!values.length) return {};
    const low = Math.min(...values), high = Math.max(...values);
    const span = Math.max(high - low, 0.02 * Math.max(Math.abs(low), Math.abs(high)), 1e-12);
    const unit = 10 ** Math.floor(Math.log10(span)), step = span / unit > 2 ? unit / 2 : unit / 10;
    const ends = [Math.floor((high - 1.04 * span) / step), Math.ceil((low + 1.04 * span) / step)];
    return {range: ends.map((end) => Number((end * step).toPrecision(12)))};
  }

  window.explorerFigure = function (picture, theme) {
    const colours = themes[theme] || themes.light, {ink, grid, ground} = colours, map = picture.map;
    const axis = {gridcolor: grid, zerolinecolor: grid, linecolor: ink};
    const rows = Math.ceil(picture.curves.length / 2); // of the legend
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: {color: ink, size: 13},
      margin: {l: 58, r: 12, t: map ? 20 : 14 + 20 * rows, b: 48, autoexpand: Boolean(map)},
      xaxis: {...axis, title: {text: picture.x}, type: picture.log ? "log" : "linear", ...across(picture)},
      yaxis: {...axis, title: {text: picture.y}, ...upward(picture)},
      legend,
      hovermode: map ? "closest" : "x unified",
      hoverlabel: {bgcolor: ground, font: {color: ink}},
      uirevision: "kept",
    };
    return {data: map ? tracesOfMap(map, colours) : tracesOf(picture.curves, colours), layout};
  };
})();
