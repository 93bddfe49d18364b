import { ChevronDown, X } from "lucide-react";
import { useRef, useState } from "react";
import type { ThreadFilter } from "../../lib/thread-filter.ts";
import { Button, useKeptFocus } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { later } from "../../ui/later.tsx";
import { chipsOf, type FilterName, filterNames } from "./filter.ts";

type Props = { filter: ThreadFilter; onChange: (change: ThreadFilter) => void };

const FilterMenu = later(async () => (await import("./filter-menu.tsx")).FilterMenu);

const control =
  "inline-flex min-h-8 flex-none cursor-pointer items-center gap-1 rounded-md px-2 text-muted hover:bg-hover hover:text-ink aria-expanded:bg-hover aria-pressed:bg-accent-soft aria-pressed:text-accent disabled:cursor-default disabled:text-faint disabled:hover:bg-transparent max-md:min-h-10";

export function Filters({ filter, onChange }: Props) {
  const [opened, open] = useState<FilterName | null>(null);
  const [name, setName] = useState<FilterName>("Status");
  const buttons = useRef(new Map<FilterName, HTMLButtonElement>());
  const all = useRef<HTMLElement>(null);
  useKeptFocus(all);
  return (
    <search ref={all} className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-1 gap-y-2">
        <SearchField
          label="Search all threads"
          value={filter.q ?? ""}
          onChange={(text) => onChange({ q: text || undefined })}
          onLeave={() => document.querySelector<HTMLElement>("[role=row] a")?.focus()}
        />
        <div
          className="flex min-w-0 gap-1 overflow-x-auto p-0.5 scrollbar-none"
          role="group"
          aria-label="Filters"
        >
          {filterNames.map((one) => (
            <button
              key={one}
              ref={(button) => void (button && buttons.current.set(one, button))}
              type="button"
              className={control}
              aria-haspopup="menu"
              aria-expanded={one === opened}
              disabled={one === "Version" && !filter.workflow}
              title={one === "Version" && !filter.workflow ? "Choose a workflow first" : undefined}
              onClick={() => {
                setName(one);
                open(one === opened ? null : one);
              }}
            >
              {one}
              <ChevronDown />
            </button>
          ))}
          <button
            type="button"
            className={control}
            aria-pressed={filter.error === true}
            onClick={() => onChange({ error: filter.error ? undefined : true })}
          >
            Has error
          </button>
        </div>
      </div>
      <Chips filter={filter} onChange={onChange} />
      <FilterMenu
        key={name}
        of={name}
        filter={filter}
        isOpen={opened !== null}
        anchor={() => buttons.current.get(name) ?? null}
        onChange={onChange}
        onClose={() => open(null)}
      />
    </search>
  );
}

function Chips({ filter, onChange }: Props) {
  const chips = chipsOf(filter);
  if (chips.length === 0) return null;
  return (
    <ul className="flex flex-wrap gap-2" aria-label="Active filters">
      {chips.map(({ name, text, without }) => (
        <li
          key={name}
          className="flex max-w-full items-center rounded-md border bg-surface pl-2 text-small max-md:min-h-10"
        >
          <span className="truncate">
            <span className="text-muted">{name}</span> {text}
          </span>
          <IconButton
            icon={<X />}
            label={`Remove the filter ${name}`}
            onClick={() => onChange(without)}
          />
        </li>
      ))}
      {chips.length > 1 && (
        <li>
          <Button
            look="quiet"
            small
            onClick={() => onChange(Object.assign({}, ...chips.map(({ without }) => without)))}
          >
            Clear
          </Button>
        </li>
      )}
    </ul>
  );
}
