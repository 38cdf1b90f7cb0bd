// Draws panels of a dashboard with the front-end libraries that Grafana publishes, for the picture
// of it (make pictures): the panels are those of the dashboard's JSON, and the frames are rows of
// the engine. What Grafana's server and its panel plugins add is not here.

import "uplot/dist/uPlot.min.css";
import { createRoot } from "react-dom/client";
import { applyFieldOverrides, createTheme, dateTime, EventBusSrv, FieldConfigOptionsRegistry, getFieldDisplayValues, identityOverrideProcessor, ThemeContext, toDataFrame } from "@grafana/data";
import { BigValue, BigValueColorMode, BigValueGraphMode, BigValueTextMode, GlobalStyles, PanelChrome, PanelContextProvider, Table, TimeSeries } from "@grafana/ui";

const theme = createTheme({ colors: { mode: "dark" } });
const same = (t) => t;

// The settings of fields that the dashboards use.
const registry = new FieldConfigOptionsRegistry();
const setting = (path, isCustom) => registry.register({ id: (isCustom ? "custom." : "") + path, path, name: path, isCustom, settings: {}, process: identityOverrideProcessor, shouldApply: () => true, getItemsCount: () => 0, editor: () => null, override: () => null });
for (const path of ["unit", "color", "thresholds"]) setting(path, false);
for (const path of ["drawStyle", "lineWidth", "fillOpacity", "fillBelowTo", "hideFrom", "showPoints", "spanNulls"]) setting(path, true);

function Body({ panel, frame, range, width, height }) {
  const data = applyFieldOverrides({ data: [toDataFrame(frame)], fieldConfig: panel.fieldConfig, replaceVariables: same, theme, fieldConfigRegistry: registry, timeZone: "utc" });
  switch (panel.type) {
    case "timeseries":
      return <TimeSeries frames={data} structureRev={1} timeRange={range} timeZone="utc" width={width} height={height} legend={panel.options.legend} options={panel.options} />;
    case "stat": {
      const [shown] = getFieldDisplayValues({ fieldConfig: panel.fieldConfig, reduceOptions: panel.options.reduceOptions, replaceVariables: same, theme, data, timeZone: "utc" });
      return <BigValue value={shown.display} width={width} height={height} theme={theme} colorMode={BigValueColorMode.Value} graphMode={BigValueGraphMode.None} textMode={BigValueTextMode.Value} />;
    }
    default:
      return <Table data={data[0]} width={width} height={height} />;
  }
}

// draw shows panels, each with a frame, at the places that they have in a dashboard.
window.draw = (drawn, from, to) => {
  const width = document.body.clientWidth / 24, height = 38;
  const range = { from: dateTime(from), to: dateTime(to), raw: { from: dateTime(from), to: dateTime(to) } };
  const rows = Math.max(...drawn.map(({ panel: { gridPos: g } }) => g.y + g.h));
  createRoot(document.body.appendChild(document.createElement("div"))).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <PanelContextProvider value={{ eventBus: new EventBusSrv(), eventsScope: "panels" }}>
        <div style={{ position: "relative", height: rows * height + 8, background: theme.colors.background.canvas }}>
          {drawn.map(({ panel, frame }) => (
            <div key={panel.id} data-panel={panel.title} style={{ position: "absolute", left: panel.gridPos.x * width + 4, top: panel.gridPos.y * height + 4 }}>
              <PanelChrome title={panel.title} width={panel.gridPos.w * width - 8} height={panel.gridPos.h * height - 8}>
                {(w, h) => <Body panel={panel} frame={frame} range={range} width={w} height={h} />}
              </PanelChrome>
            </div>
          ))}
        </div>
      </PanelContextProvider>
    </ThemeContext.Provider>,
  );
};
