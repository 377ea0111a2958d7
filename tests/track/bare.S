/* SPDX-License-Identifier: MIT */
/*
 * A program without the C library, whose number of user instructions since exec is known. With N
 * words on its command line, including its own name, it loops N << 20 times, L instructions:
 *
 *   bare         the loop: L + 6
 *   bare_fork    forks, and both loop, the parent waits: L + 17, the child L + 7
 *   bare_thread  creates a thread, and both loop: L + 10, the new one L + 4
 */
	.globl	_start
_start:
	mov	(%rsp), %r12
	shl	$20, %r12
#ifdef FORK
	mov	$57, %eax
	syscall
	mov	%rax, %r13
#endif
#ifdef THREAD
	mov	$0x50f00, %edi		/* VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */
	xor	%esi, %esi		/* no thread writes to the stack */
	mov	$56, %eax
	syscall
#endif
	mov	%r12, %rcx
1:	mov	(%rsp), %rax
	dec	%rcx
	jnz	1b
#ifdef FORK
	test	%r13, %r13
	jz	2f
	mov	$-1, %rdi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	mov	$61, %eax		/* wait4 */
	syscall
#endif
2:	xor	%edi, %edi
	mov	$60, %eax		/* exit: of this thread; the process ends with its last */
	syscall

	.section .note.GNU-stack, "", @progbits
