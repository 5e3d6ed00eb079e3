--- Highlight groups. All are links to common groups, and can be overridden.
local M = {}

---@type { name: string, link: string, desc: string }[]
M.GROUPS = {
  { name = 'BackstitchAdded', link = 'DiffAdd', desc = 'Added lines of an inline diff.' },
  { name = 'BackstitchRemoved', link = 'DiffDelete', desc = 'Deleted lines of an inline diff.' },
  { name = 'BackstitchAddedWord', link = 'DiffText', desc = 'Added words in a changed line.' },
  { name = 'BackstitchRemovedWord', link = 'DiffText', desc = 'Removed words in the deleted lines.' },
  { name = 'BackstitchSignAdded', link = 'Added', desc = 'Signs of added lines.' },
  { name = 'BackstitchSignChanged', link = 'Changed', desc = 'Signs of changed lines.' },
  { name = 'BackstitchSignRemoved', link = 'Removed', desc = 'Signs of deleted lines.' },
  { name = 'BackstitchBlame', link = 'LspCodeLens', desc = 'Author at the end of the line.' },
  { name = 'BackstitchHeading', link = 'Title', desc = 'Headings of plans.' },
  { name = 'BackstitchKey', link = 'Special', desc = 'Keys in plans and in the help of the timeline.' },
  { name = 'BackstitchDim', link = 'Comment', desc = 'Less important text.' },
  { name = 'BackstitchWarning', link = 'DiagnosticWarn', desc = 'Conflicts, and files that were not captured.' },
  { name = 'BackstitchBranch', link = 'Title', desc = 'Branches in the timeline.' },
  { name = 'BackstitchCurrent', link = 'String', desc = 'The current branch.' },
  { name = 'BackstitchTurn', link = 'Identifier', desc = 'Turns in the timeline.' },
  { name = 'BackstitchPrompt', link = 'Normal', desc = 'Prompts in the timeline.' },
  { name = 'BackstitchTool', link = 'Function', desc = 'Tools in the timeline.' },
  {
    name = 'BackstitchSession1',
    link = 'Identifier',
    desc = 'The first session (A) in the timeline, also the seventh.',
  },
  { name = 'BackstitchSession2', link = 'String', desc = 'The second session (B).' },
  { name = 'BackstitchSession3', link = 'DiagnosticWarn', desc = 'The third session (C).' },
  { name = 'BackstitchSession4', link = 'Special', desc = 'The fourth session (D).' },
  { name = 'BackstitchSession5', link = 'DiagnosticError', desc = 'The fifth session (E).' },
  { name = 'BackstitchSession6', link = 'Statement', desc = 'The sixth session (F).' },
  { name = 'BackstitchFilter', link = 'WarningMsg', desc = 'The filter of the timeline.' },
  { name = 'BackstitchBreakpoint', link = 'DiagnosticWarn', desc = 'Signs of lines where agents stop.' },
  { name = 'BackstitchHeld', link = 'DiffText', desc = 'The line at which a program is paused.' },
  { name = 'BackstitchTag', link = 'Label', desc = 'Tags and pins in the timeline.' },
}

local function set()
  for _, group in ipairs(M.GROUPS) do
    vim.api.nvim_set_hl(0, group.name, { link = group.link, default = true })
  end
end

function M.enable()
  set()
  vim.api.nvim_create_autocmd('ColorScheme', {
    group = vim.api.nvim_create_augroup('backstitch.highlights', {}),
    callback = set,
  })
end

return M
