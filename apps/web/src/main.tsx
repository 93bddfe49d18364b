import "./ui/styles.css";
import { notifyManager, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./lib/request.ts";
import { router } from "./router.tsx";

const mostTries = 3;

// A part failed to load: either the console was rebuilt and its parts are renamed, or the server is unreachable.
// Without a server the current page is better than an empty one.
addEventListener("vite:preloadError", () => {
  const key = "reloaded-at";
  const before = Number(sessionStorage.getItem(key));
  if (Date.now() - before < 10_000) return;
  sessionStorage.setItem(key, String(Date.now()));
  void fetch("/theme.js", { cache: "no-store" }).then(({ ok }) => ok && location.reload(), Boolean);
});

// Not in the next timer: the second of two quick clicks must find its button busy.
notifyManager.setScheduler(queueMicrotask);

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // A refusal is final; an unreachable server may be back in a moment.
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
