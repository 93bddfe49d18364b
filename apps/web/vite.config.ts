import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `bun run dev` shows the sources at once; the API is that of a server which is started beside it.
const api = process.env.CONSOLE_API ?? "http://127.0.0.1:9160";

export default defineConfig({
  plugins: [react()],
  build: {
    target: ["chrome123", "firefox121", "safari17.5"],
    // Nothing of a page is written into its HTML or CSS: the server's policy allows files alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": { target: api, changeOrigin: true } } },
});
