import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { useRef, useState } from "react";
import { useStored } from "../../lib/stored.ts";
import type { ThreadFilter } from "../../lib/thread-filter.ts";
import { Button, useKeptFocus } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { later } from "../../ui/later.tsx";
import { builtIn, keepViews, textOfFilter, type View, viewsIn, viewsKey } from "./filter.ts";

const SaveView = later(async () => (await import("./save-view.tsx")).SaveView);

/** The views: named filters, each a link. */
export function Views({ filter }: { filter: ThreadFilter }) {
  const saved = viewsIn(useStored(viewsKey));
  const [isSaving, setSaving] = useState(false);
  const text = textOfFilter(filter);
  const isCurrent = (view: View) => textOfFilter(view.filter) === text;
  const own = saved.find(isCurrent);
  const bar = useRef<HTMLDivElement>(null);
  useKeptFocus(bar);
  const isNamed = own !== undefined || builtIn.some(isCurrent);
  return (
    <div ref={bar} className="flex items-center gap-1">
      <nav aria-label="Views" className="flex min-w-0 gap-1 overflow-x-auto scrollbar-none">
        {[...builtIn, ...saved].map((view) => (
          <Link
            key={view.name}
            to="/"
            search={view.filter}
            className="flex min-h-8 flex-none items-center rounded-md px-3 text-muted -outline-offset-2 hover:bg-hover hover:no-underline aria-[current]:bg-gray-soft aria-[current]:text-ink max-md:min-h-10"
            activeOptions={{ exact: true }}
          >
            {view.name}
          </Link>
        ))}
      </nav>
      {own && (
        <IconButton
          icon={<X />}
          label={`Forget the view ${own.name}`}
          title="Forget this view"
          onClick={() => keepViews(saved.filter((view) => view !== own))}
        />
      )}
      {!isNamed && (
        <Button look="quiet" onClick={() => setSaving(true)}>
          Save view
        </Button>
      )}
      <SaveView filter={filter} isOpen={isSaving} onClose={() => setSaving(false)} />
    </div>
  );
}
