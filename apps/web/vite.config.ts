import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type ProxyOptions } from "vite";

// For `bun run dev`: the URL that `uncaged-workflow serve` printed, with its token.
const served = new URL(process.env.CONSOLE_API ?? "http://127.0.0.1:9160");

const toServer: ProxyOptions = {
  target: served.origin,
  changeOrigin: true,
  headers: { Authorization: `Bearer ${served.searchParams.get("token") ?? ""}` },
  // The page comes from another port here, which the server would refuse.
  configure: (proxy) =>
    proxy.on("proxyReq", (request) => {
      for (const name of ["origin", "sec-fetch-site"]) request.removeHeader(name);
    }),
};

export default defineConfig({
  // Vite minifies, for the browsers below.
  plugins: [react(), tailwindcss({ optimize: false })],
  build: {
    target: ["chrome123", "firefox121", "safari17.5"],
    // Nothing of a page is written into its HTML or CSS: the server's policy allows files alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Read by the packing, which ships it with those of all other parts.
    license: { fileName: "licenses.json" },
  },
  server: {
    proxy: { "/api": toServer, "^/workflow/": toServer },
  },
});
