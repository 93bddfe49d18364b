import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/request.ts";
import { router } from "./router.tsx";
import "./theme/tokens.css";
import "./theme/base.css";

const mostTries = 3;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // A refusal is an answer; a server that is not reached may be back in a moment.
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
