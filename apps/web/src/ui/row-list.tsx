import { createLink } from "@tanstack/react-router";
import { type ComponentProps, type Key, type ReactNode, useRef, useState } from "react";
import { count } from "../lib/format.ts";
import { More } from "./more.tsx";
import { useListKeys } from "./page.tsx";
import { SearchField } from "./search-field.tsx";
import { Empty } from "./states.tsx";

type Props<One> = {
  label: string;
  rows: readonly One[];
  keyOf: (row: One) => Key;
  /** A search field above the list: its label, the text of a row, and the fields that the text contains. */
  search?: { label: string; textOf: (row: One) => string; fields: string };
  /** Classes of a row's layout. */
  layout: string;
  children: (row: One) => ReactNode;
};

const atOnce = 100;

/** A list of rows, each with a {@link RowLink}. `j` and `k` move between them. */
export function RowList<One>({ label, rows, keyOf, search, layout, children }: Props<One>) {
  const list = useRef<HTMLUListElement>(null);
  const [text, setText] = useState("");
  const words = text.trim().toLowerCase();
  const found = search
    ? rows.filter((row) => search.textOf(row).toLowerCase().includes(words))
    : rows;
  useListKeys({ list, target: "a", length: found.length });
  return (
    <>
      {search && (
        <search>
          <SearchField label={search.label} value={text} onChange={setText} />
        </search>
      )}
      {found.length === 0 && (
        <Empty title={`No matching ${label.toLowerCase()}`}>
          <p>No {search?.fields} contains this text.</p>
        </Empty>
      )}
      <More of={found} atOnce={atOnce} label={(left) => `Show more (${count(left)} left)`}>
        {(shown) => (
          <ul ref={list} className="panel shadow-sm empty:hidden" aria-label={label}>
            {shown.map((row, index) => (
              <li
                key={keyOf(row)}
                className={`relative border-b px-4 py-3 first:rounded-t-lg last:rounded-b-lg last:border-b-0 focus-within:bg-hover hover:bg-hover max-lg:px-3 ${layout}`}
                data-index={index}
              >
                {children(row)}
              </li>
            ))}
          </ul>
        )}
      </More>
    </>
  );
}

/** The link of a row, with the row's name. It covers the row. */
export const RowLink = createLink((props: ComponentProps<"a">) => (
  <a {...props} className="stretched text-body font-semibold wrap-anywhere text-ink" />
));
