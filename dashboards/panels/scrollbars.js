// The bundler takes this CommonJS module as a whole for its default export, where Grafana's own
// takes the one that it names so.
import all from "./node_modules/react-custom-scrollbars-2/lib/index.js";

export default all.default;
