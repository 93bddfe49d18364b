import { queryOptions } from "@tanstack/react-query";
import { pathOf, requestText } from "./request.ts";

const pathTo = (id: string, at: number): string => pathOf("threads", id, "values", String(at));

/** The JSON of a value that was too long for its event, which says where it is kept. It never changes. */
export const valueQuery = (id: string, at: number) =>
  queryOptions({
    queryKey: ["values", id, at],
    queryFn: ({ signal }) => requestText(pathTo(id, at), { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

/** The address of the same, for a tab of its own. */
export const valueURL = (id: string, at: number): string => `/api${pathTo(id, at)}`;
