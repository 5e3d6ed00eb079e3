-- Defines the command and the <Plug> mappings, and starts the language server once Neovim has started.
if vim.g.loaded_backstitch then
  return
end
vim.g.loaded_backstitch = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify_once('backstitch: needs Neovim 0.11 or newer', vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command('Backstitch', function(typed)
  require('backstitch.commands').run(typed)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Checkpoints of what agents do: timeline, rewind, diff, fork, and more',
  complete = function(word, line)
    return require('backstitch.commands').complete(word, line)
  end,
})

for name, command in pairs({
  Timeline = 'log',
  Rewind = 'rewind',
  Undo = 'undo',
  UndoTurn = 'undoturn',
  Review = 'review',
  Changes = 'changes',
  Quickfix = 'qflist',
  Redo = 'redo',
  Diff = 'diff',
  DiffSplit = 'diffsplit',
  TakeBack = 'takeback',
  Keep = 'keep',
  Preview = 'preview',
  Pauses = 'pauses',
  Breakpoint = 'breakpoint',
  Blame = 'blame',
  Checkpoint = 'checkpoint',
  Fork = 'fork',
  Job = 'job',
}) do
  local mode = vim.list_contains({ 'TakeBack', 'Keep', 'Breakpoint' }, name) and { 'n', 'x' } or 'n'
  vim.keymap.set(mode, ('<Plug>(Backstitch%s)'):format(name), ':Backstitch ' .. command .. '<CR>', { silent = true })
end
vim.keymap.set('n', '<Plug>(BackstitchKeepFile)', ':%Backstitch keep<CR>', { silent = true })
-- a count before these is a number of changes or files, not a range of lines
for name, command in pairs({ NextHunk = 'next', PrevHunk = 'prev', NextFile = 'nextfile', PrevFile = 'prevfile' }) do
  vim.keymap.set('n', ('<Plug>(Backstitch%s)'):format(name), function()
    vim.cmd.Backstitch({ command, tostring(vim.v.count1) })
  end)
end

local has_started = false

-- Scheduled: the first screen does not wait for the server.
local function start()
  vim.schedule(function()
    require('backstitch').start()
    has_started = true
    if vim.v.this_session ~= '' then
      require('backstitch.timeline').restore()
    end
  end)
end
if vim.v.vim_did_enter == 1 then
  start()
else
  vim.api.nvim_create_autocmd('VimEnter', { once = true, callback = start })
end

-- A session stores the timeline as a window with this name.
local group = vim.api.nvim_create_augroup('backstitch.session', {})
vim.api.nvim_create_autocmd('BufFilePost', {
  group = group,
  pattern = 'backstitch-timeline://*',
  callback = function(event)
    if vim.g.SessionLoad == 1 then
      require('backstitch.timeline').reserve(event.buf)
    end
  end,
})
vim.api.nvim_create_autocmd('SessionLoadPost', {
  group = group,
  callback = function()
    if has_started then
      require('backstitch.timeline').restore()
    end
  end,
})
