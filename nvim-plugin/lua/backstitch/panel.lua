--- Review of all changes since a state, in a tab: a list of files, and the file of the current row beside it, inline or side
--- by side with the older file.
local config = require('backstitch.config')
local file_keys = require('backstitch.review.file_keys')
local float = require('backstitch.float')
local outside = require('backstitch.outside')
local review = require('backstitch.review')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Debounce delay in milliseconds.
local DELAY = 80
--- Width of the list in columns, a third of the screen at most.
local WIDTH = 44
--- Lines above the files.
local HEAD = 3

local namespace = vim.api.nvim_create_namespace('backstitch.panel')

---@class backstitch.Panel
---@field buf integer The list.
---@field root string
---@field rev string Name for people.
---@field about string
---@field id string The checkpoint that files are compared with.
---@field files backstitch.ChangedFile[]
---@field current? string Path of the shown file.
---@field main integer Window of the file.
---@field older? integer Window of the older file, if it is beside.
---@field is_split boolean
---@field compared table<integer, true> Buffers that the review began to compare.
---@field mapped table<integer, true> Buffers that have its keys.
---@field act fun(action: backstitch.FileAction) Runs a key of a file.
---@field debounce uv.uv_timer_t

--- Keyed by tab page.
---@type table<integer, backstitch.Panel>
local panels = {}

---@return backstitch.Panel?
local function here()
  return panels[vim.api.nvim_get_current_tabpage()]
end

--- True if the current tab page is a review.
function M.is_open()
  return here() ~= nil
end

---@param panel backstitch.Panel
---@return integer?
local function current_index(panel)
  for i, file in ipairs(panel.files) do
    if words.shown(file.path) == panel.current then
      return i
    end
  end
end

---@param panel backstitch.Panel
local function draw(panel)
  if not vim.api.nvim_buf_is_valid(panel.buf) then
    return
  end
  local left = vim.tbl_filter(function(file)
    return not file.kept
  end, panel.files)
  local window = vim.fn.win_findbuf(panel.buf)[1]
  local columns = window and vim.api.nvim_win_get_width(window) or WIDTH
  local summary = #panel.files == 0 and 'No changes left'
    or ('%s, %s'):format(words.count(#panel.files, 'file'), words.counts(panel.files))
  if #left < #panel.files then
    summary = ('%s, %d kept'):format(summary, #panel.files - #left)
  end
  local lines = {
    { { words.line(('Since %s %s'):format(panel.rev, panel.about), columns - 1), 'BackstitchHeading' } },
    { { summary, 'BackstitchDim' } },
    { { words.line('K keep, X undo, ]c next', columns - 1), 'BackstitchDim' } },
  }
  for _, file in ipairs(panel.files) do
    local path, counts = words.shown(file.path), file.binary and 'binary' or words.counts({ file })
    local mark = path == panel.current and '▸ ' or '  '
    local state = file.kept and '✓ ' or words.letter(file) .. ' '
    local room = columns - 5 - vim.fn.strdisplaywidth(counts)
    local shown = path
    -- the end of a path says more than its start
    while vim.fn.strdisplaywidth(shown) > math.max(8, room) do
      shown = '…' .. vim.fn.strcharpart(shown, shown:sub(1, 3) == '…' and 2 or 1)
    end
    table.insert(lines, {
      { mark, 'BackstitchKey' },
      { state, file.kept and 'BackstitchCurrent' or words.letter_group(file) },
      { shown, file.kept and 'BackstitchDim' or nil },
      { (' '):rep(math.max(1, room - vim.fn.strdisplaywidth(shown))) .. counts, 'BackstitchDim' },
    })
  end
  float.write(panel.buf, namespace, lines)
end

---@async
---@param panel backstitch.Panel
local function read(panel)
  local client = server.client(panel.buf)
  local diff = server.request(client, 'backstitch/diff', { from = panel.id, to = 'buffer', workspace = panel.root })
  panel.files = diff.files
  draw(panel)
end

---@param panel backstitch.Panel
local function close_older(panel)
  if panel.older and vim.api.nvim_win_is_valid(panel.older) then
    vim.api.nvim_win_close(panel.older, true)
  end
  panel.older = nil
end

--- Goes to the window for files; opens one if it was closed.
---@param panel backstitch.Panel
local function go_to_main(panel)
  if vim.api.nvim_win_is_valid(panel.main) then
    return vim.api.nvim_set_current_win(panel.main)
  end
  vim.cmd('botright vsplit')
  panel.main = vim.api.nvim_get_current_win()
  vim.wo.winfixbuf, vim.wo.winfixwidth = false, false
end

--- Opens the older text of a file that is deleted.
---@async
---@param panel backstitch.Panel
---@param path string
local function open_deleted(panel, path)
  local name = require('backstitch.documents').fetch(server.client(panel.buf), panel.root, panel.id, path)
  go_to_main(panel)
  outside.edit(name)
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  vim.api.nvim_buf_set_extmark(buf, namespace, 0, 0, {
    end_row = vim.api.nvim_buf_line_count(buf),
    hl_group = 'BackstitchRemoved',
    hl_eol = true,
    sign_text = '-',
    sign_hl_group = 'BackstitchSignRemoved',
    virt_text = { { '  deleted', 'BackstitchSignRemoved' } },
    strict = false,
  })
  panel.mapped[buf] = true
  file_keys.map(buf, panel.act)
end

--- Opens the file with this number. `change` is that of the change to go to; a negative one counts from the last.
---@async
---@param panel backstitch.Panel
---@param index integer
---@param change integer
local function open_file(panel, index, change)
  local file = panel.files[index]
  if not file then
    return
  end
  local path = words.shown(file.path)
  panel.current = path
  close_older(panel)
  if file.kind == 'delete' then
    open_deleted(panel, path)
    return draw(panel)
  end
  go_to_main(panel)
  -- a name below the current directory is shown without it
  local buf = vim.fn.bufadd(vim.fn.fnamemodify(vim.fs.joinpath(panel.root, path), ':.'))
  vim.bo[buf].buflisted = true
  vim.cmd.buffer(buf)
  draw(panel)
  local is_beside = panel.is_split and file.kind ~= 'create' and not file.binary
  panel.compared[buf] = true
  review.start(buf, panel.id, is_beside and 'hidden' or 'inline', true)
  local known = review.of(buf)
  if not known or here() ~= panel or vim.api.nvim_get_current_buf() ~= buf then
    return
  end
  known.rev = panel.rev
  review.go(known, change)
  if is_beside then
    panel.older = review.split(buf, panel.id)
    vim.api.nvim_set_current_win(panel.main)
  end
  panel.mapped[buf] = true
  file_keys.map(buf, panel.act)
end

--- Opens the next or previous file, and goes to its first or last change.
---@async
---@param forward boolean
---@param count? integer
function M.step(forward, count)
  local panel = here()
  if not panel then
    task.fail({ message = 'This tab is not a review', hint = ':Backstitch review starts one' })
  end
  if #panel.files == 0 then
    return
  end
  local at = current_index(panel) or (forward and 0 or 1)
  local to = at + (forward and 1 or -1) * (count or 1)
  open_file(panel, (to - 1) % #panel.files + 1, 1)
end

--- Goes on in the next or previous file that has changes to review.
---@async
---@param forward boolean
---@return boolean is_done
function M.cross(forward)
  local panel = here()
  if not panel then
    return false
  end
  local at = current_index(panel) or (forward and 0 or #panel.files + 1)
  local step = forward and 1 or -1
  local to = at + step
  while panel.files[to] and panel.files[to].kept do
    to = to + step
  end
  if not panel.files[to] then
    require('backstitch.notice').say(('backstitch: That was the %s change.'):format(forward and 'last' or 'first'))
    return true
  end
  open_file(panel, to, forward and 1 or -1)
  return true
end

--- Keeps all changes of a file, or marks them again.
---@async
---@param panel backstitch.Panel
---@param file backstitch.ChangedFile
local function keep_file(panel, file)
  server.request(server.client(panel.buf), 'backstitch/review', {
    action = file.kept and 'unkeep' or 'keep',
    uri = vim.uri_from_fname(vim.fs.joinpath(panel.root, words.shown(file.path))),
    since = panel.id,
    shown = not file.kept and file.shown or nil,
  })
  read(panel)
end

--- Undoes all changes of a file, after its plan.
---@async
---@param panel backstitch.Panel
---@param file backstitch.ChangedFile
local function undo_file(panel, file)
  require('backstitch.restore').run(server.client(panel.buf), 'rewind', {
    workspace = panel.root,
    rev = panel.id,
    paths = { vim.uri_from_fname(vim.fs.joinpath(panel.root, words.shown(file.path))) },
    exact = true,
  })
  read(panel)
end

--- Goes on after a decision: to the next change of the file, else to the next file with one.
---@async
---@param panel backstitch.Panel
---@param at integer Number that the file had.
---@param line integer
local function go_on(panel, at, line)
  local file = panel.files[at]
  local is_there = file ~= nil and words.shown(file.path) == panel.current
  if is_there and review.go_from(line) then
    return
  end
  local to = is_there and at + 1 or at
  while panel.files[to] and panel.files[to].kept do
    to = to + 1
  end
  if not panel.files[to] then
    return require('backstitch.notice').say('backstitch: That was the last change.')
  end
  open_file(panel, to, 1)
end

--- Runs a key of a file.
---@async
---@param panel backstitch.Panel
---@param action backstitch.FileAction
local function act_in_file(panel, action)
  if action == 'next_file' or action == 'previous_file' then
    return M.step(action == 'next_file', vim.v.count1)
  end
  local at, line = current_index(panel), vim.fn.line('.')
  local file = at and panel.files[at]
  if not at or not file then
    task.fail({ message = 'This file has no changes', hint = '<Tab> opens the next file' })
  elseif action == 'next_change' or action == 'previous_change' then
    -- a deleted or a binary file is one change
    local go = review.of() and review.jump or M.cross
    return go(action == 'next_change', vim.v.count1)
  elseif action == 'keep_file' and file.kept then
    return keep_file(panel, file)
  elseif action == 'keep_file' or not review.of() then
    (action == 'undo' and undo_file or keep_file)(panel, file)
  else
    (action == 'undo' and review.take_back or review.keep)(line, line)
    read(panel)
  end
  go_on(panel, at, line)
end

--- Keys of the list.
---@type { key: string, desc: string, act: async fun(panel: backstitch.Panel, index?: integer) }[]
M.KEYS = {
  {
    key = '<CR>',
    desc = 'Open the file.',
    act = function(panel, index)
      open_file(panel, index or current_index(panel) or 1, 1)
    end,
  },
  {
    key = '<Tab>',
    desc = 'Open the next file.',
    act = function()
      M.step(true)
    end,
  },
  {
    key = '<S-Tab>',
    desc = 'Open the previous file.',
    act = function()
      M.step(false)
    end,
  },
  {
    key = 's',
    desc = 'Show files side by side, or inline.',
    act = function(panel)
      panel.is_split = not panel.is_split
      open_file(panel, current_index(panel) or 1, 1)
    end,
  },
  {
    key = 'K',
    desc = 'Keep all changes of the file, or mark them again.',
    act = function(panel, index)
      local file = panel.files[index or 0]
      if not file then
        task.fail({ message = 'There is no file on this line' })
      end
      local was_kept, row = file.kept, vim.api.nvim_win_get_cursor(0)[1]
      keep_file(panel, file)
      if not was_kept and row == vim.fn.line('.') and row < vim.fn.line('$') then
        vim.api.nvim_win_set_cursor(0, { row + 1, 0 })
      end
    end,
  },
  {
    key = 'X',
    desc = 'Undo all changes of the file, also yours, after its plan.',
    act = function(panel, index)
      local file = panel.files[index or 0]
      if not file then
        task.fail({ message = 'There is no file on this line' })
      end
      undo_file(panel, file)
    end,
  },
  {
    key = 'u',
    desc = 'Undo the last rewind.',
    act = function(panel)
      require('backstitch.restore').run(server.client(panel.buf), 'undo', { workspace = panel.root })
    end,
  },
  {
    key = 'R',
    desc = 'Reload the list.',
    act = function(panel)
      read(panel)
    end,
  },
  {
    key = 'g?',
    desc = 'List these keys.',
    act = function()
      local lines = { { { ' In the list', 'BackstitchHeading' } } }
      local function add(keys)
        for _, each in ipairs(keys) do
          table.insert(lines, { { (' %-8s'):format(each.key), 'BackstitchKey' }, { each.desc .. ' ' } })
        end
      end
      add(M.KEYS)
      vim.list_extend(lines, { {}, { { ' In its files', 'BackstitchHeading' } } })
      add(file_keys.KEYS)
      float.open({ title = 'Review', lines = lines, keys = {}, footer = 'q close' })
    end,
  },
  {
    key = 'q',
    desc = 'Close the review.',
    act = function(panel)
      -- the last window of Neovim stays
      if #vim.api.nvim_list_tabpages() == 1 then
        vim.cmd.tabnew()
        vim.cmd.tabprevious()
      end
      close_older(panel)
      vim.cmd.tabclose()
    end,
  },
}

---@param panel backstitch.Panel
local function map_keys(panel)
  for _, each in ipairs(M.KEYS) do
    vim.keymap.set('n', each.key, function()
      local index = vim.api.nvim_win_get_cursor(0)[1] - HEAD
      task.run(function()
        each.act(panel, panel.files[index] and index or nil)
      end)
    end, { buffer = panel.buf, nowait = true, desc = 'Backstitch: ' .. each.desc })
  end
end

---@param panel backstitch.Panel
---@param tab integer
local function follow(panel, tab)
  local group = vim.api.nvim_create_augroup('backstitch.panel.' .. panel.buf, {})
  vim.api.nvim_create_autocmd('WinResized', {
    group = group,
    callback = function()
      draw(panel)
    end,
  })
  -- elsewhere the keys of a file do what they did before
  vim.api.nvim_create_autocmd('TabLeave', {
    group = group,
    callback = function()
      if here() == panel then
        file_keys.unmap(panel.mapped)
      end
    end,
  })
  vim.api.nvim_create_autocmd('TabEnter', {
    group = group,
    callback = function()
      for buf in pairs(here() == panel and panel.mapped or {}) do
        file_keys.map(buf, panel.act)
      end
    end,
  })
  -- `:edit` empties a buffer that no file is read into
  vim.api.nvim_create_autocmd('BufReadCmd', {
    group = group,
    buffer = panel.buf,
    callback = function()
      draw(panel)
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    buffer = panel.buf,
    callback = function()
      panels[tab] = nil
      panel.debounce:close()
      vim.api.nvim_del_augroup_by_id(group)
      file_keys.unmap(panel.mapped)
      vim.schedule(function()
        for buf in pairs(panel.compared) do
          local known = review.of(buf)
          if known and known.id == panel.id and vim.api.nvim_buf_is_valid(buf) then
            review.finish(buf)
          end
        end
      end)
    end,
  })
end

local is_listening = false
local function listen()
  if is_listening then
    return
  end
  is_listening = true
  for _, method in ipairs({ 'backstitch/timelineChanged', 'backstitch/didRewind' }) do
    server.on(method, function(params)
      for _, panel in pairs(panels) do
        if panel.root == words.shown(params.workspace) then
          panel.debounce:start(
            DELAY,
            0,
            vim.schedule_wrap(function()
              if vim.api.nvim_buf_is_valid(panel.buf) then
                task.run(function()
                  read(panel)
                end, function() end) -- `R` reports failures
              end
            end)
          )
        end
      end
    end)
  end
end

--- Opens the review of all changes since a state in a new tab, with its first file.
---@async
---@param client vim.lsp.Client
---@param root string
---@param rev string
function M.open(client, root, rev)
  local checkpoint = rev == review.LAST_TURN and review.before_last_turn(client, { workspace = root })
    or server.request(client, 'backstitch/checkpoint', { rev = rev, workspace = root })
  local diff = server.request(client, 'backstitch/diff', { from = checkpoint.id, to = 'buffer', workspace = root })
  local name = rev == review.LAST_TURN and words.rev(checkpoint) or rev
  if #diff.files == 0 then
    require('backstitch.notice').say(('backstitch: No changes since %s.'):format(name))
    return
  end
  listen()
  server.serves(root, client)
  vim.cmd.tabnew()
  vim.bo.bufhidden = 'wipe'
  local main, tab = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_tabpage()
  vim.cmd(('topleft vertical %dsplit'):format(math.min(WIDTH, math.floor(vim.o.columns / 3))))
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, ('backstitch-review://review since %s %d'):format(name, buf))
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].filetype = 'backstitch-review'
  vim.b[buf].backstitch_root = root
  vim.api.nvim_win_set_buf(0, buf)
  local options = vim.wo[0][0]
  options.number, options.relativenumber, options.signcolumn, options.foldcolumn = false, false, 'no', '0'
  options.foldenable, options.statuscolumn, options.colorcolumn = false, '', ''
  require('backstitch.timeline.window').hide_winbar()
  options.wrap, options.cursorline, options.list, options.spell = false, true, false, false
  options.statusline = ' Review%=g?: keys '
  options.winfixwidth, options.winfixbuf = true, true
  ---@type backstitch.Panel
  local panel = {
    buf = buf,
    root = root,
    rev = name,
    about = words.about(checkpoint),
    id = checkpoint.id,
    files = diff.files,
    main = main,
    is_split = config.get().review.layout == 'split',
    compared = {},
    mapped = {},
    act = function() end,
    debounce = assert(vim.uv.new_timer()),
  }
  panel.act = function(action)
    task.run(function()
      act_in_file(panel, action)
    end)
  end
  panels[tab] = panel
  map_keys(panel)
  follow(panel, tab)
  draw(panel)
  vim.api.nvim_win_set_cursor(0, { HEAD + 1, 0 })
  open_file(panel, 1, 1)
end

return M
