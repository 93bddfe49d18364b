import "./ui/styles.css";
import { notifyManager, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./lib/request.ts";
import { router } from "./router.tsx";

const mostTries = 3;

// If a part fails to load, either the console was rebuilt with other file names, or the server is unreachable.
// Reloads only if the server answers; otherwise the current page is better than an error page.
addEventListener("vite:preloadError", () => {
  const key = "reloaded-at";
  const before = Number(sessionStorage.getItem(key));
  if (Date.now() - before < 10_000) return;
  sessionStorage.setItem(key, String(Date.now()));
  void fetch("/early.js", { cache: "no-store" }).then(({ ok }) => ok && location.reload(), Boolean);
});

// A timer would be too late: the second of two quick clicks must find the button busy.
notifyManager.setScheduler(queueMicrotask);

const client = new QueryClient({
  defaultOptions: {
    // A server on this machine is reachable without a network.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      staleTime: 2_000,
      // An error response is final, but an unreachable server may soon be reachable again.
      retry: (tries, error) =>
        tries < mostTries && !(error instanceof ApiError && error.status !== 0),
    },
  },
});

const root = document.querySelector("#root");
if (!root) throw new Error("the page has no root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
