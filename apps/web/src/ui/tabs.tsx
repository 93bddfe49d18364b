import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

type Tab = { value: string; label: ReactNode; className?: string };

type Props = {
  label: string;
  tabs: readonly Tab[];
  value: string;
  onChange: (value: string) => void;
  fills?: boolean;
  children: ReactNode;
};

/** Tabs for several views. Renders only the selected view. */
export function Tabs({ label, tabs, value, onChange, fills = false, children }: Props) {
  const filling = fills ? "flex min-h-0 flex-1 flex-col" : "";
  return (
    <Base.Root
      className={filling}
      value={value}
      onValueChange={(chosen) => onChange(String(chosen))}
    >
      <Base.List
        className={`flex flex-none gap-1 overflow-x-auto border-b scrollbar-none ${fills ? "px-1" : ""}`}
        aria-label={label}
      >
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className={`relative cursor-pointer px-3 py-2 max-md:py-2.5 font-semibold whitespace-nowrap text-muted -outline-offset-2 hover:text-ink aria-selected:text-ink aria-selected:after:absolute aria-selected:after:inset-x-2 aria-selected:after:-bottom-px aria-selected:after:h-[2px] aria-selected:after:rounded-[2px] aria-selected:after:bg-accent ${tab.className ?? ""}`}
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel
          key={tab.value}
          value={tab.value}
          className={`outline-none ${tab.value === value ? filling : ""}`}
          tabIndex={-1}
        >
          {tab.value === value && children}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
