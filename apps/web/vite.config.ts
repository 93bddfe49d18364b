import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type ProxyOptions } from "vite";

// For `bun run dev`: the URL with the token that `uncaged-workflow serve` prints.
const served = new URL(process.env.CONSOLE_API ?? "http://127.0.0.1:9160");

const toServer: ProxyOptions = {
  target: served.origin,
  changeOrigin: true,
  headers: { Authorization: `Bearer ${served.searchParams.get("token") ?? ""}` },
  // The server would refuse the dev server's origin.
  configure: (proxy) =>
    proxy.on("proxyReq", (request) => {
      for (const name of ["origin", "sec-fetch-site"]) request.removeHeader(name);
    }),
};

export default defineConfig({
  // Vite minifies for the browsers below.
  plugins: [react(), tailwindcss({ optimize: false })],
  build: {
    target: ["chrome123", "firefox121", "safari17.5"],
    // The server's policy forbids inline scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The package script reads and ships it.
    license: { fileName: "licenses.json" },
  },
  server: {
    proxy: { "/api": toServer, "^/workflow/": toServer },
  },
});
